# tests/sim/report_test.py - the parts of `make codegen-report`: bars on made-up rows, catching launches, one small run.
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

import bars  # noqa: E402
import measure  # noqa: E402
import peers  # noqa: E402
import tilekernels  # noqa: E402
from simulator import torch, triton  # noqa: E402

failures = []


def expect(what, got, want):
    if got != want:
        failures.append(f"{what}: {got!r}, not {want!r}")


SIDE = dict(compile_ms=100.0, registers=32, stack=0, spill=0, shared=0, blocks_per_sm=4, loop_non_tensor_per_tensor=4.0,
            async_stages=2, executed_warp_instructions=1000, tensor_instructions=64, global_sectors=100, bank_conflicts=10,
            loop_bank_conflicts=0)


def row(name, ours=(), theirs=(), **more):
    """A row that meets every bar, but for what `ours` and `theirs` change."""
    good = dict(SIDE, compile_ms=50.0, executed_warp_instructions=900)
    return dict(dict(source="kernels", instance=name, dtype="torch.float16", target="sm_80", num_warps=4, num_stages=3,
                     ours=dict(good, **dict(ours)), triton=dict(SIDE, **dict(theirs)), differs=0.0, reference=True), **more)


def missed(rows, target="sm_80"):
    """Bar -> the names of its rows, worst first."""
    return {bar.name: [r["instance"] for r, _ in bar.rows] for bar in bars.bars(rows, target) if not bar.holds}


def bars_of_rows():
    expect("good rows", missed([row("a"), row("matmul b")]), {})
    for figure, bar, value in [("spill", "worse_spill", 8), ("tensor_instructions", "worse_tensor_instructions", 65),
                               ("bank_conflicts", "worse_bank_conflicts", 11), ("global_sectors", "worse_global_sectors", 101),
                               ("blocks_per_sm", "worse_blocks_per_sm", 3)]:
        worse = row("worse", {figure: value})
        worst = row("worst", {figure: value * 3 if figure != "blocks_per_sm" else 1})
        expect(bar, missed([row("a"), worse, worst, row("b")]).get(bar), ["worst", "worse"])
        expect(bar + " apart", missed([row("a"), row("x", {figure: value}, dict(spill=257))]), {})
    expect("spill limit", missed([row("dense_fwd D=128", dict(spill=128), dict(spill=128))]), {})
    expect("spill above", missed([row("dense_fwd D=128", dict(spill=132), dict(spill=200))]), dict(spill=["dense_fwd D=128"]))
    expect("spill of 8 warps", missed([row("dense_fwd D=128", dict(spill=8), dict(spill=8), num_warps=8)]), dict(spill=["dense_fwd D=128"]))
    # Means: sqrt(0.5 * 2) is 1; one row is above 1.15.
    pair = [row("half", dict(loop_non_tensor_per_tensor=2.0)), row("double", dict(loop_non_tensor_per_tensor=8.0))]
    expect("geometric mean", missed(pair), dict(loop_above_1_15=["double"]))
    # Half of the tensor instructions, as many others in all: a reason; a third more of them in all: none.
    fewer = [row("half", dict(loop_non_tensor_per_tensor=2.0)),
             row("same work", dict(loop_non_tensor_per_tensor=8.0, tensor_instructions=32)),
             row("more work", dict(loop_non_tensor_per_tensor=8.0, tensor_instructions=42))]
    expect("with a reason", missed(fewer).get("loop_above_1_15"), ["more work"])
    skipped = row("skipped", dict(tensor_instructions=0), dict(tensor_instructions=0))
    expect("a loop that did not run", missed([skipped]), {})
    expect("its text", bars.text([skipped], "sm_80").count("MISSED"), 0)
    expect("executed", missed([row("a", dict(executed_warp_instructions=960))]), dict(executed_ratio=["a"]))
    expect("compile time", missed([row("a", dict(compile_ms=61))]), dict(compile_ratio=["a"]))
    expect("dense conflicts", missed([row("matmul", dict(loop_bank_conflicts=1)), row("gate", dict(loop_bank_conflicts=1))]),
           dict(dense_loop_conflicts=["matmul"]))
    expect("cp.async", missed([row("a", dict(async_stages=0)), row("b", dict(async_stages=0), dict(async_stages=0)),
                               row("select_fwd", dict(async_stages=0), dict(async_stages=0)),
                               row("c", dict(async_stages=0), num_stages=1)]), dict(async_copies=["a", "select_fwd"]))
    expect("results", missed([row("a", differs=1.5), row("b", differs=None)]), dict(results=["a"]))
    error = dict(error="a.py:1:2: error: no")
    broken = dict(row("a"), ours=error)
    expect("failed", missed([broken, row("b")]), dict(all_compile=["a"]))
    expect("failed for both, not ours", missed([dict(row("a", source="fla", reference=False), ours=error, triton=error), row("b")]), {})
    expect("failed for both, ours", missed([dict(broken, triton=error, reference=False), row("b")]), dict(all_compile=["a"]))
    expect("sm_90 is the same code", missed([row("a", dict(tensor_instructions=99), target="sm_90")], "sm_90"), {})
    expect("sm_90 spills", missed([row("a", dict(spill=4), target="sm_90")], "sm_90"), dict(spill=["a"]))
    summary, holds = bars.summary([row("a"), row("b", dict(spill=4))], "sm_80")
    expect("summary", (summary["rows"], summary["worse_spill"], holds["worse_spill"], holds["results"]), (2, ["b float16"], False, True))
    expect("text", "MISSED      1 (at most 0)  kernels that spill more" in bars.text([row("b", dict(spill=4))], "sm_80"), True)


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
        expect("results of Triton", r["differs"] is not None and r["differs"] <= 1, True)
        expect("main loop", r["ours"].get("loop_bank_conflicts"), 0)
    missed_bars = [name for verdicts in result["bars"].values() for name, holds in verdicts.items() if not holds]
    expect("exit status", done.returncode, int(bool(missed_bars)))


bars_of_rows()
parts()
caught_launches()
small_run()
for line in failures:
    print("FAILED", line)
print("failures:", len(failures))
sys.exit(1 if failures else 0)
