# tests/bench/cpu_rows_test.py - bars of `make bench`: what is met, missed, wrong or missing; a run of two rows.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""cpu_rows_test.py BUILD-DIR"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock
import xml.dom.minidom

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/cpu"))
import rows  # noqa: E402

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
BY_NAME = {row.name: row for row in rows.ROWS}


def entry(name, avx512=True, **figures):
    return rows.entry(BY_NAME[name], figures, 2, avx512)


class Rows(unittest.TestCase):
    def test_the_table_is_that_of_the_issue(self):
        self.assertEqual(len(rows.NAMES), len(set(rows.NAMES)))
        for row in rows.ROWS:
            self.assertTrue((ROOT / "bench/cpu" / (row.group + ".py")).exists(), row.name)
            self.assertIn(row.dtype, rows.ERROR)
            self.assertIn(row.rule, ("ratio >=", "ours <=", "ours >="))
            self.assertEqual(bool(row.peer), row.rule == "ratio >=", row.name)

    def test_pairs_of_nsa_one_by_one(self):
        for geometry in ((4, 2, 4, 2, 3), (2, 1, 2, 3, 1)):
            block, stride, selection, kept, window = geometry
            for length in (1, 3, 17):
                pairs = 0
                for t in range(length):
                    pairs += sum(i * stride + block <= t + 1 for i in range(length))
                    # Its own block and the first ones, as any choice that has its own.
                    chosen = sorted(range(t // selection + 1), key=lambda b: (b != t // selection, b))[:kept]
                    pairs += sum(pos // selection in chosen for pos in range(t + 1)) + sum(t - window < pos for pos in range(t + 1))
                self.assertEqual(rows.nsa_pairs(length, *geometry), pairs, (geometry, length))
        # At 8,192 tokens 28 GFLOP of 8 heads of 64 channels.
        self.assertAlmostEqual(2 * 2 * 8 * 64 * rows.nsa_pairs(8192, 32, 16, 64, 16, 512) / 1e9, 28.2, places=1)

    def test_a_ratio_above_one_is_faster(self):
        found = entry("matmul_f32_1024", ours=10.0, peer=9.0, max_error=1e-6)
        self.assertAlmostEqual(found["ratio"], 0.9)
        self.assertTrue(found["met"])
        self.assertFalse(entry("matmul_f32_1024", ours=10.0, peer=8.9, max_error=1e-6)["met"])

    def test_another_bar_without_avx512(self):
        self.assertTrue(entry("matmul_bf16_1024", ours=10.0, peer=8.0, max_error=1e-3)["met"])
        self.assertFalse(entry("matmul_bf16_1024", avx512=False, ours=10.0, peer=8.0, max_error=1e-3)["met"])

    def test_figures_without_a_peer(self):
        self.assertTrue(entry("launch_host_us", ours=0.3)["met"])
        self.assertFalse(entry("launch_host_us", ours=0.31)["met"])
        self.assertTrue(entry("quickstart_beside_two", ours=0.4)["met"])
        self.assertFalse(entry("quickstart_beside_two", ours=0.39)["met"])
        self.assertIsNone(entry("launch_host_us", ours=0.3)["ratio"])

    def test_what_is_wrong_is_not_met(self):
        for error in (1.1e-4, float("nan")):
            found = entry("softmax", ours=1.0, peer=2.0, max_error=error)
            self.assertFalse(found["met"])
            self.assertIn("differ", rows.line(found))
        self.assertTrue(entry("train_step_dense_s1024_11m_bf16", ours=1.0, peer=2.0, max_error=1.9e-2)["met"])
        found = entry("matmul_f32_1024", ours=1.0, peer=2.0, max_error=0.0, peak_share=1.01)
        self.assertFalse(found["met"])
        self.assertIn("the measurement is wrong", rows.line(found))
        self.assertTrue(entry("matmul_f32_1024", ours=1.0, peer=2.0, max_error=0.0, peak_share=1.0)["met"])
        self.assertFalse(entry("softmax", failed="OSError: no such file")["met"])

    def test_missing_rows_are_named(self):
        all_but_one = [{"name": name} for name in rows.NAMES if name != "rope"]
        self.assertEqual(rows.missing(all_but_one), ["rope"])
        self.assertEqual(rows.missing(all_but_one + [{"name": "rope"}]), [])

    def test_the_plot_is_a_picture(self):
        entries = [entry("softmax", ours=1.0, peer=3.0, max_error=0.0), entry("rope", ours=2.0, peer=1.0, max_error=0.0),
                   entry("launch_host_us", ours=0.1)]
        texts = [node.firstChild.data for node in xml.dom.minidom.parseString(rows.plot(entries)).getElementsByTagName("text")]
        self.assertIn("3.00", texts)
        self.assertIn("0.50", texts)
        self.assertNotIn("launch_host_us", texts)


class OtherOperations(unittest.TestCase):
    """bench/cpu/programs.py on a trace made by hand."""

    def test_own_time_of_the_largest(self):
        import programs
        span = lambda name, category, begin, length, thread=1: {"ph": "X", "name": name, "cat": category, "ts": begin, "dur": length, "tid": thread}
        trace = {"traceEvents": [span("step 1", "step", 0, 100), span("aten::linear", "operation", 0, 40),
                                 span("aten::fill_", "operation", 10, 5), span("kernel rope", "kernel", 50, 30),
                                 span("aten::add", "operation", 85, 8), span("aten::copy_", "operation", 86, 6), span("aten::copy_", "operation", 0, 1, 2),
                                 {"ph": "M", "name": "thread_name", "tid": 1}]}
        share, name = programs.largest_other(trace)
        self.assertEqual(name, "aten::copy_")
        self.assertAlmostEqual(share, 0.07)


class Memory(unittest.TestCase):
    def test_the_memory_of_the_process_that_measures_is_not_counted(self):
        import programs
        held = bytearray(os.urandom(1 << 20)) * 1024  # more than what the rows below take
        context = types.SimpleNamespace(library=BUILD / "lib/libtessera_torch.so")
        with unittest.mock.patch.object(programs, "LENGTHS", (512, 2048)):
            found = programs.memory(context)
        self.assertEqual(len(held), 1 << 30)
        # o, lse and the gradients of q, k, v alone: 8 query heads and 2 x 4 heads of keys of 64 in fp32.
        self.assertGreater(found["mebibytes"][2048], 3 * 2048 * 8 * 64 * 4 / 2 ** 20)
        self.assertLess(found["mebibytes"][2048], 512)  # code and pools that the first launch brings are about 40
        self.assertGreater(found["mebibytes"][2048], found["mebibytes"][512])


class Run(unittest.TestCase):
    """Whether ours is faster is not asked here."""

    def run_rows(self, folder, *more):
        return subprocess.run([sys.executable, str(ROOT / "bench/cpu/run.py"), str(BUILD), "--rounds", "1", "--threads", "1", "--out",
                               folder + "/cpu.json", *more], capture_output=True, text=True, check=False)

    def test_two_rows_and_going_on(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.run_rows(folder, "--only", "softmax,cross_entropy")
            self.assertIn(done.returncode, (0, 1), done.stderr)
            result = json.loads(pathlib.Path(folder, "cpu.json").read_text())
            self.assertEqual([row["name"] for row in result["rows"]], ["softmax", "cross_entropy"], done.stderr)
            self.assertFalse(result["complete"])
            for row in result["rows"]:
                self.assertNotIn("failed", row)
                self.assertLessEqual(row["max_error"], rows.ERROR["fp32"])
                self.assertGreater(min(row["ours"], row["peer"]), 0)
                self.assertAlmostEqual(row["ratio"], row["peer"] / row["ours"])
            self.assertGreater(result["flop_per_second"], 1e8)
            self.assertTrue(os.path.exists(folder + "/cpu.svg"))
            again = self.run_rows(folder, "--only", "softmax,cross_entropy")
            self.assertNotIn("1 of", again.stderr)
            self.assertEqual(json.loads(pathlib.Path(folder, "cpu.json").read_text())["rows"], result["rows"])


if __name__ == "__main__":
    unittest.main()
