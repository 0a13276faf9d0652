# tests/triton/outliers_test.py - one wrong element of 40,000 fails every comparison of the Python tests.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""usage: outliers_test.py. The elements are bf16: the RMS error of all of them hides the wrong one."""
import importlib.util
import sys
import unittest

import harness
from harness import ROOT, torch
from outliers import close_enough, outliers

LIMIT = harness.LIMITS[torch.bfloat16]
SHAPE = (200, 200)


def module(path):
    sys.path.append(str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def results():
    """Right results, rounded to bf16: normal numbers in rows of sizes from 1 to 1/100, as of attention over more and more keys."""
    generator = torch.Generator().manual_seed(5)
    size = torch.linspace(0, -2, SHAPE[0], dtype=torch.float64)
    want = torch.randn(SHAPE, generator=generator, dtype=torch.float64) * (10 ** size)[:, None]
    return want.bfloat16(), want


def wrong_ones():
    """Results with one wrong element: its negative, 0, a large number, infinity, NaN."""
    got, want = results()
    size = want.square().mean().sqrt().item()
    generator = torch.Generator().manual_seed(6)
    for _ in range(20):
        at = tuple(torch.randint(0, n, (), generator=generator).item() for n in SHAPE)
        if want[at].abs() < 0.1 * max(size, want[at[0]].square().mean().sqrt().item()):
            continue
        for value in (-got[at].item(), 0.0, -10 * size, float("inf"), float("nan")):
            wrong = got.clone()
            wrong[at] = value
            yield wrong, want


class Outliers(unittest.TestCase):
    def test_the_rms_error_hides_it(self):
        hidden = [1 for got, want in wrong_ones() if ((got - want).square().mean() / want.square().mean()).sqrt() <= LIMIT]
        self.assertGreater(len(hidden), 5)

    def test_right_results_pass(self):
        got, want = results()
        self.assertEqual(close_enough(got, want, LIMIT), "")
        self.assertFalse(outliers(got, want, LIMIT).any())
        special = torch.tensor([float("-inf"), 1.0, float("nan")])
        self.assertFalse(outliers(special, special, 1e-5).any())
        nothing = torch.zeros(0, 3)
        self.assertEqual(close_enough(nothing, nothing, 1e-5), "")
        # Where 0 is right, differences are absolute.
        self.assertEqual(close_enough(torch.full((4,), 1e-6), torch.zeros(4), 1e-5), "")
        self.assertNotEqual(close_enough(torch.full((4,), 1e-4), torch.zeros(4), 1e-5), "")

    def test_the_shared_rule(self):
        for got, want in wrong_ones():
            self.assertEqual(outliers(got, want, LIMIT).sum(), 1)
            self.assertRegex(close_enough(got, want, LIMIT), "element|RMS")

    def test_the_harness_of_kernels(self):
        for got, want in wrong_ones():
            harness.failures.clear()
            harness.check("x", got, want, LIMIT)
            self.assertEqual(len(harness.failures), 1)
        harness.failures.clear()
        harness.check("x", *results(), LIMIT)
        self.assertEqual(harness.failures, [])

    def test_the_tests_of_the_ops(self):
        ops = module(ROOT / "tests/python/ops_test.py").OpsTest()
        for got, want in wrong_ones():
            with self.assertRaises(AssertionError):
                ops.close(got, want, "x", LIMIT)
        ops.close(*results(), "x", LIMIT)


if __name__ == "__main__":
    unittest.main()
