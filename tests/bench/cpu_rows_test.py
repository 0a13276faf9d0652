# tests/bench/cpu_rows_test.py - the table of a CPU: which rows meet their target, are wrong or missing; a run of two rows.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import xml.dom.minidom
from unittest import mock

import pytest
from cpu import table as rows
from harness.timing import refuse_above_peak
from repository import BUILD, ROOT

BY_NAME = {row.name: row for row in rows.ROWS}


def entry(name, avx512=True, **figures):
    return rows.entry(BY_NAME[name], figures, 2, avx512)


class TestRows:
    def test_the_table_is_that_of_the_issue(self):
        assert len(rows.NAMES) == len(set(rows.NAMES))
        for row in rows.ROWS:
            assert (ROOT / "bench/cpu" / (row.group + ".py")).exists(), row.name
            assert row.dtype in rows.ERROR
            assert row.rule in ("ratio >=", "ours <=", "ours >=")
            assert bool(row.peer) == (row.rule == "ratio >="), row.name

    def test_pairs_of_nsa_one_by_one(self):
        from cpu.attention import nsa_pairs
        for geometry in ((4, 2, 4, 2, 3), (2, 1, 2, 3, 1)):
            block, stride, selection, kept, window = geometry
            for length in (1, 3, 17):
                pairs = 0
                for t in range(length):
                    pairs += sum(i * stride + block <= t + 1 for i in range(length))
                    # Its own block and the first ones, as any choice that has its own.
                    chosen = sorted(range(t // selection + 1), key=lambda b: (b != t // selection, b))[:kept]
                    pairs += sum(pos // selection in chosen for pos in range(t + 1)) + sum(t - window < pos for pos in range(t + 1))
                assert nsa_pairs(length, *geometry) == pairs, (geometry, length)
        # At 8,192 tokens 28 GFLOP of 8 heads of 64 channels.
        assert 2 * 2 * 8 * 64 * nsa_pairs(8192, 32, 16, 64, 16, 512) / 1e9 == pytest.approx(28.2, rel=0, abs=5e-02)

    def test_a_ratio_above_one_is_faster(self):
        found = entry("matmul_f32_1024", ours=10.0, peer=9.0, max_error=1e-6)
        assert found["ratio"] == pytest.approx(0.9, rel=0, abs=5e-08)
        assert found["met"]
        assert not entry("matmul_f32_1024", ours=10.0, peer=8.9, max_error=1e-6)["met"]

    def test_another_bar_without_avx512(self):
        assert entry("matmul_bf16_1024", ours=10.0, peer=8.0, max_error=1e-3)["met"]
        assert not entry("matmul_bf16_1024", avx512=False, ours=10.0, peer=8.0, max_error=1e-3)["met"]

    def test_figures_without_a_peer(self):
        assert entry("launch_host_us", ours=0.3)["met"]
        assert not entry("launch_host_us", ours=0.31)["met"]
        assert entry("quickstart_beside_two", ours=0.4)["met"]
        assert not entry("quickstart_beside_two", ours=0.39)["met"]
        assert entry("launch_host_us", ours=0.3)["ratio"] is None

    def test_what_is_wrong_is_not_met(self):
        for error in (1.1e-4, float("nan")):
            found = entry("softmax", ours=1.0, peer=2.0, max_error=error)
            assert not found["met"]
            assert "differ" in rows.line(found)
        assert entry("train_step_dense_s1024_11m_bf16", ours=1.0, peer=2.0, max_error=1.9e-2)["met"]
        found = refuse_above_peak(entry("matmul_f32_1024", ours=1.0, peer=2.0, max_error=0.0, peak_share=1.01))
        assert not found["met"]
        assert "the measurement is wrong" in rows.line(found)
        assert refuse_above_peak(entry("matmul_f32_1024", ours=1.0, peer=2.0, max_error=0.0, peak_share=1.0))["met"]
        assert not entry("softmax", failed="OSError: no such file")["met"]

    def test_missing_rows_are_named(self):
        all_but_one = [{"name": name} for name in rows.NAMES if name != "rope"]
        assert rows.missing(all_but_one) == ["rope"]
        assert rows.missing(all_but_one + [{"name": "rope"}]) == []

    @pytest.mark.parametrize("attention", ["nsa", "dense"])
    def test_the_pytorch_model_trains(self, attention, monkeypatch):
        from cpu import training
        training.torch.ops.load_library(os.environ["LIBTESSERA_TORCH"])
        for name, value in dict(LAYERS=1, DIM=16, HEADS=2, GROUPS=1 if attention == "nsa" else 2, SIZE=8, HIDDEN=32, LENGTH=32, BATCH=2, BLOCK=8,
                                STRIDE=4, SELECTION=8, KEPT=2, WINDOW=8).items():
            monkeypatch.setattr(training.plain, name, value)
        rows_of_qkv = (2 + 6) * 8 if attention == "nsa" else 6 * 8
        shapes = {"attention.norm": [16], "attention.qkv": [rows_of_qkv, 16], "attention.output": [16, 16], "gate.in": [4, 16], "gate.in_bias": [4],
                  "gate.out": [3, 4], "gate.out_bias": [3], "mlp.norm": [16], "mlp.in": [32, 16], "mlp.out": [16, 32]}
        shapes = {"blocks.0." + name: shape for name, shape in shapes.items() if attention == "nsa" or "gate" not in name}
        generator = training.torch.Generator().manual_seed(1)
        weights = {name: 0.3 * training.torch.randn(shape, generator=generator)
                   for name, shape in {**shapes, "embedding": [256, 16], "norm": [16], "head": [256, 16]}.items()}
        side = training.Baseline(weights, attention, bytes(range(256)) * 8, autocast=False)
        losses = [side.run()[1] for _ in range(3)]
        assert 5 < losses[0] < 12
        assert losses[2] != losses[0]

    def test_the_plot_is_a_picture(self):
        entries = [entry("softmax", ours=1.0, peer=3.0, max_error=0.0), entry("rope", ours=2.0, peer=1.0, max_error=0.0),
                   entry("launch_host_us", ours=0.1)]
        texts = [node.firstChild.data for node in xml.dom.minidom.parseString(rows.plot(entries)).getElementsByTagName("text")]
        assert "3.00" in texts
        assert "0.50" in texts
        assert "launch_host_us" not in texts


class TestOtherOperations:
    """bench/cpu/programs.py on a trace made by hand."""

    def test_own_time_of_the_largest(self):
        from cpu import programs
        span = lambda name, category, begin, length, thread=1: {"ph": "X", "name": name, "cat": category, "ts": begin, "dur": length, "tid": thread}
        trace = {"traceEvents": [span("step 1", "step", 0, 100), span("aten::linear", "operation", 0, 40),
                                 span("aten::fill_", "operation", 10, 5), span("kernel rope", "kernel", 50, 30),
                                 span("aten::add", "operation", 85, 8), span("aten::copy_", "operation", 86, 6), span("aten::copy_", "operation", 0, 1, 2),
                                 {"ph": "M", "name": "thread_name", "tid": 1}]}
        share, name = programs.largest_other(trace)
        assert name == "aten::copy_"
        assert share == pytest.approx(0.07, rel=0, abs=5e-08)


class TestMemory:
    def test_the_memory_of_the_process_that_measures_is_not_counted(self):
        from cpu import programs
        held = bytearray(os.urandom(1 << 20)) * 1024  # more than what the rows below take
        context = types.SimpleNamespace(library=BUILD / "lib/libtessera_torch.so")
        with mock.patch.object(programs, "LENGTHS", (512, 8192)):
            found = programs.memory(context)
        assert len(held) == 1 << 30
        # o, lse and the gradients of q, k, v alone: 8 query heads and 2 x 4 heads of keys of 64 in fp32.
        assert found["mebibytes"][8192] > 3 * 8192 * 8 * 64 * 4 / 2 ** 20
        assert found["mebibytes"][8192] < 512
        # Code and pools that the first launch brings are 40 to 80, more if a kernel is compiled.
        assert found["mebibytes"][8192] > found["mebibytes"][512]


class TestRun:
    """Whether ours is faster is not asked here."""

    def run_rows(self, folder, *more):
        return subprocess.run([sys.executable, str(ROOT / "bench/run.py"), "cpu", "--build", str(BUILD), "--rounds", "1", "--threads", "1", "--out",
                               folder + "/cpu.json", *more], capture_output=True, text=True, check=False)

    def test_two_rows_and_going_on(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.run_rows(folder, "--only", "softmax", "--only", "cross_entropy")
            assert done.returncode in (0, 1), done.stderr
            result = json.loads(pathlib.Path(folder, "cpu.json").read_text())
            assert [row["name"] for row in result["rows"]] == ["softmax", "cross_entropy"], done.stderr
            assert not result["complete"]
            for row in result["rows"]:
                assert "failed" not in row
                assert row["max_error"] <= rows.ERROR["fp32"]
                assert min(row["ours"], row["peer"]) > 0
                assert row["ratio"] == pytest.approx(row["peer"] / row["ours"], rel=0, abs=5e-08)
            assert result["flop_per_second"] > 1e8
            assert os.path.exists(folder + "/cpu.svg")
            again = self.run_rows(folder, "--only", "softmax", "--only", "cross_entropy")
            assert "1 of" not in again.stderr
            assert json.loads(pathlib.Path(folder, "cpu.json").read_text())["rows"] == result["rows"]
