# tests/simulator/report_test.py - the compiling steps of `make codegen-report`: figures, catching launches, one small run.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import pytest
import tilekernels
from codegen import measure, published
from repository import BUILD, ROOT
from simulator import torch, triton

PTX = """$L_one:
    ld.global.b32 %r1, [%rd1];
$L_two:
    mma.sync.aligned.m16n8k16 {};
    @%p1 bra $L_two;
    @%p2 bra $L_one;
    bra.uni $L_end;
$L_end:
    mma.sync.aligned.m16n8k16 {};
    ret;
"""


def test_parts():
    assert measure.tensor_loop_lines(PTX) == {3, 4, 5}, "innermost loop with dots"
    a, half = torch.arange(8.0), torch.arange(8.0).half()
    assert measure.difference([a, 1, half], [a.clone(), 1, half.clone()]) == 0.0, "equal"
    assert round(measure.difference([a * 1.005], [a]), 3) == 1.0, "float"
    assert measure.difference([a / a], [a]) == float("inf"), "NaN"
    assert measure.difference([a / a], [a / a]) == 0.0, "same NaN"
    order = [torch.tensor([2, 1])], [torch.tensor([1, 2])]
    assert measure.difference(*order) == float("inf"), "integers"
    assert measure.difference(*order, unordered=True) == 0.0, "unordered integers"
    assert measure.hints_of(ROOT / "kernels/nsa/select_fwd.py", "select_fwd") == ["swap_ab"], "hints"
    assert measure.hints_of(ROOT / "kernels/nn/rope.py", "rope") == [], "no hints"


def test_caught_launches():
    seen = []
    fail = []
    raised = published.catch(lambda fn, *rest: seen.append((fn.fn.__name__, *rest)) or fail and 1 / 0)
    x = torch.zeros(4)
    tilekernels.plain[(2,)](x, 4, BLOCK=8, num_warps=2)
    tilekernels.tuned[lambda meta: (triton.cdiv(100, meta["BLOCK"]), 3)](x, n=100)
    assert [(name, grid, args[1:], constexprs, options) for name, grid, args, constexprs, options in seen] == (
            [("plain", (2, 1, 1), [4, 1.5], dict(BLOCK=8), dict(num_warps=2, num_stages=3)),
            ("tuned", (4, 3, 1), [100], dict(BLOCK=32, EVEN=False), dict(num_warps=1, num_stages=2))]), "launches"
    assert all(args[0] is x for _, _, args, _, _ in seen), "the tensor itself"
    fail.append(True)
    with pytest.raises(ZeroDivisionError) as caught:
        tilekernels.plain[(2,)](x, 4, BLOCK=8)
    assert raised == [caught.value]
    names = [line.split("==")[0] for line in published.pins()]
    assert "fla-core" in names and "liger-kernel" in names and all(" --hash=sha256:" in line for line in published.pins()), "pins"


def report(*arguments):
    return subprocess.run([sys.executable, str(ROOT / "bench/run.py"), "codegen", "--build", str(BUILD), *arguments], capture_output=True, text=True)


def test_small_run():
    done = report("target=sm_90a")
    assert (done.returncode, "sm_90a has no code yet" in done.stderr) == (1, True), "sm_90a"
    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, "report.json")
        done = report("--quick", "sources=tutorials", "kernel=matmul", "target=sm_80,sm_90", "--out", output)
        assert os.path.exists(output), done.stdout + done.stderr
        result = json.loads(pathlib.Path(output).read_text())
    assert sorted((r["target"], r["dtype"]) for r in result["rows"]) == (
            [(t, f"torch.{d}") for t in ("sm_80", "sm_90") for d in ("float16", "float32")]), "rows"
    for r in result["rows"]:
        # 16 tiles of 64 x 64 over 256: fp16 takes m16n8k16, tf32 m16n8k8.
        assert r["ours"].get("tensor_instructions") == 256 ** 3 // (16 * 8 * (16 if r["dtype"] == "torch.float16" else 8)), "tensor instructions"
        sides = [side for side in ("ours", "triton") if side == "ours" or r["target"] == "sm_80"]  # Triton's for sm_90 does not run
        for side in sides:
            assert r[side].get("threads") == 128, "threads"
            assert r[side].get("source_to_cubin_cpu_ms", 0) > 0.8 * r[side].get("start_cpu_ms", 1e9) > 0, "start-up"
            # Addresses become less SASS, loads with masks more.
            assert 0.5 < (r[side].get("executed_sass") or 0) / r[side].get("executed_warp_instructions", 1e9) < 1.5, "executed SASS"
        assert r["ours"].get("executed_sass_tensor") == r["ours"].get("tensor_instructions"), "tensor instructions of SASS"
        assert (bool(r["commit"]), [f"torch.{t}" for t in r["types"][:1]]) == (True, [r["dtype"]]), "its commit and types"
        assert r["differs"] is not None and r["differs"] <= 1, "results of Triton"
        assert r["ours"].get("loop_bank_conflicts") == 0, "main loop"
    missed_bars = [name for verdicts in result["bars"].values() for name, holds in verdicts.items() if holds is False]
    assert result["missed"] == len(missed_bars)
    assert done.returncode == int(bool(missed_bars)), "exit status"
