# tests/simulator/report_test.py - the parts of `make codegen-report` that compile: figures, catching launches, one small run.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent / "triton"), str(ROOT / "bench" / "codegen")]

import measure  # noqa: E402
import peers  # noqa: E402
import tilekernels  # noqa: E402
from simulator import torch, triton  # noqa: E402

failures = []


def expect(what, got, want):
    if got != want:
        failures.append(f"{what}: {got!r}, not {want!r}")


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


def parts():
    expect("innermost loop with dots", measure.tensor_loop_lines(PTX), {3, 4, 5})
    a, half = torch.arange(8.0), torch.arange(8.0).half()
    expect("equal", measure.difference([a, 1, half], [a.clone(), 1, half.clone()]), 0.0)
    expect("float", round(measure.difference([a * 1.005], [a]), 3), 1.0)
    expect("NaN", measure.difference([a / a], [a]), float("inf"))
    expect("same NaN", measure.difference([a / a], [a / a]), 0.0)
    order = [torch.tensor([2, 1])], [torch.tensor([1, 2])]
    expect("integers", measure.difference(*order), float("inf"))
    expect("unordered integers", measure.difference(*order, unordered=True), 0.0)
    expect("hints", measure.hints_of(ROOT / "kernels/nsa/select_fwd.py", "select_fwd"), ["swap_ab"])
    expect("no hints", measure.hints_of(ROOT / "kernels/nn/rope.py", "rope"), [])


def caught_launches():
    seen = []
    fail = []
    raised = peers.catch(lambda fn, *rest: seen.append((fn.fn.__name__, *rest)) or fail and 1 / 0)
    x = torch.zeros(4)
    tilekernels.plain[(2,)](x, 4, BLOCK=8, num_warps=2)
    tilekernels.tuned[lambda meta: (triton.cdiv(100, meta["BLOCK"]), 3)](x, n=100)
    expect("launches", [(name, grid, args[1:], constexprs, options) for name, grid, args, constexprs, options in seen],
           [("plain", (2, 1, 1), [4, 1.5], dict(BLOCK=8), dict(num_warps=2, num_stages=3)),
            ("tuned", (4, 3, 1), [100], dict(BLOCK=32, EVEN=False), dict(num_warps=1, num_stages=2))])
    expect("the tensor itself", all(args[0] is x for _, _, args, _, _ in seen), True)
    fail.append(True)
    try:
        tilekernels.plain[(2,)](x, 4, BLOCK=8)
        failures.append("an exception of visit is lost")
    except ZeroDivisionError as error:
        expect("exceptions of visit", raised, [error])
    names = [line.split("==")[0] for line in peers.pins()]
    expect("pins", "fla-core" in names and "liger-kernel" in names and all(" --hash=sha256:" in line for line in peers.pins()), True)


def report(*arguments):
    return subprocess.run([sys.executable, str(ROOT / "bench" / "codegen" / "report.py"), *arguments], capture_output=True, text=True)


def small_run():
    done = report("--target", "sm_90a")
    expect("sm_90a", (done.returncode, "sm_90a has no code yet" in done.stderr), (2, True))
    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, "report.json")
        done = report("--quick", "--sources", "tutorials", "--only", "matmul", "--target", "sm_80,sm_90", "--output", output)
        if not os.path.exists(output):
            failures.append(f"no report: {done.stdout}{done.stderr}")
            return
        result = json.loads(pathlib.Path(output).read_text())
    expect("rows", sorted((r["target"], r["dtype"]) for r in result["rows"]),
           [(t, f"torch.{d}") for t in ("sm_80", "sm_90") for d in ("float16", "float32")])
    for r in result["rows"]:
        # 16 tiles of 64 x 64 over 256: fp16 takes m16n8k16, tf32 m16n8k8.
        expect("tensor instructions", r["ours"].get("tensor_instructions"),
               256 ** 3 // (16 * 8 * (16 if r["dtype"] == "torch.float16" else 8)))
        sides = [side for side in ("ours", "triton") if side == "ours" or r["target"] == "sm_80"]  # Triton's for sm_90 does not run
        for side in sides:
            expect("threads", r[side].get("threads"), 128)
            expect("start-up", r[side].get("source_to_cubin_cpu_ms", 0) > 0.8 * r[side].get("start_cpu_ms", 1e9) > 0, True)
            # Addresses become less SASS, loads with masks more.
            expect("executed SASS", 0.5 < (r[side].get("executed_sass") or 0) / r[side].get("executed_warp_instructions", 1e9) < 1.5, True)
        expect("tensor instructions of SASS", r["ours"].get("executed_sass_tensor"), r["ours"].get("tensor_instructions"))
        expect("its commit and types", (bool(r["commit"]), [f"torch.{t}" for t in r["types"][:1]]), (True, [r["dtype"]]))
        expect("results of Triton", r["differs"] is not None and r["differs"] <= 1, True)
        expect("main loop", r["ours"].get("loop_bank_conflicts"), 0)
    missed_bars = [name for verdicts in result["bars"].values() for name, holds in verdicts.items() if holds is False]
    expect("exit status", done.returncode, int(bool(missed_bars)))


parts()
caught_launches()
small_run()
for line in failures:
    print("FAILED", line)
print("failures:", len(failures))
sys.exit(1 if failures else 0)
