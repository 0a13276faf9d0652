# tests/package/autotune_prune_test.py - how many configurations autotune times: top_k as a number and as a share, as in Triton.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import unittest

import torch

import tessera
import tessera.language as tl

SIZES = (16, 64, 32, 128, 256)


def timed(prune):
    """The sizes of the configurations that are timed, in this order; the model predicts that the largest is the fastest."""
    order = []

    def clock(fn, quantiles):
        fn()
        return [1.0] * len(quantiles)

    @tessera.autotune([tessera.Config({"BLOCK": size}, pre_hook=lambda args: order.append(args["BLOCK"])) for size in SIZES], key=["n"],
                      prune_configs_by=prune, do_bench=clock)
    @tessera.jit
    def fill(OUT, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(OUT + at, 1.0, mask=at < n)

    fill[(1,)](torch.zeros(16), 16)
    assert order[-1] == order[0]  # the launch itself, of the first of equal times
    return order[:-1] if len(order) > 1 else order


def largest_first(BLOCK, **rest):
    return -BLOCK


class Prune(unittest.TestCase):
    def expect(self, sizes, **prune):
        self.assertEqual(timed({"perf_model": largest_first, **prune}), list(sizes))

    def test_a_number(self):
        self.expect([256, 128], top_k=2)
        self.expect([256], top_k=1)

    def test_a_share_of_all(self):
        self.expect([256, 128], top_k=0.4)
        self.expect([256, 128], top_k=0.59)  # rounded down
        self.expect([256, 128, 64], top_k=0.6)
        self.expect([256], top_k=0.1)        # at least one

    def test_all_of_them_keep_their_order(self):
        for top in (1.0, 5, 9):
            self.expect(SIZES, top_k=top)
        self.expect(SIZES)

    def test_a_share_counts_what_is_pruned_early(self):
        early = lambda configs, named, **kwargs: [c for c in configs if c.kwargs["BLOCK"] <= 64]
        self.expect([64, 32], early_config_prune=early, top_k=0.4)   # 2 of 5, not 1 of 3
        self.expect([16, 64, 32], early_config_prune=early, top_k=0.6)

    def test_what_is_no_number(self):
        for top in (1.5, -1, 0, "2", True):
            with self.assertRaisesRegex(TypeError, f"kernel `fill`: top_k of prune_configs_by is {top!r}\nHINT"):
                timed({"perf_model": largest_first, "top_k": top})


if __name__ == "__main__":
    unittest.main()
