# bench/codegen/report.py - our PTX next to Triton's: the same kernels, constants, warps, stages, inputs.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""report.py [--output build/bench/codegen.json] [--quick] [--only NAME]

Every kernel that the programs of tests/triton launch with the constants of its instances is compiled by both compilers and run
by the simulator on the same inputs. PROGRAM names the tessera binary, SIM_ABI libtessera_sim_abi.so. Exits with 1 when a bar is
missed; rows where Triton's code spills more than 256 bytes are listed apart. compile_ms is the shorter of two compilations, ptxas
included. Ours is done by a process and a worker of its own each time: what a kernel of one line takes at that moment (the shorter of
two) is taken off. Triton's compiler is warm. bank_conflicts are passes over the banks beyond the fewest that an access of its width
takes (docs/simulator.md); shared_passes are all of them."""
import argparse
import datetime
import json
import math
import os
import pathlib
import platform
import runpy
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIM, TRITON = ROOT / "tests" / "sim", ROOT / "tests" / "triton"
sys.path[:0] = [str(SIM), str(TRITON)]
PEER_SPILLS = 256  # bytes from which on a row is listed apart

arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
arguments.add_argument("--output", default=str(ROOT / "build" / "bench" / "codegen.json"))
arguments.add_argument("--quick", action="store_true", help="the smallest instance of each kernel only")
arguments.add_argument("--only", help="kernels whose name contains this")
arguments.add_argument("--target", default="sm_80", choices=["sm_80"])
options = arguments.parse_args()
sys.argv = [sys.argv[0]]

os.environ["TESSERA_CACHE_DIR"] = tempfile.mkdtemp(prefix="tessera-codegen-")  # nothing is found there
import harness  # noqa: E402
import simulator  # noqa: E402
from harness import torch  # noqa: E402

rows = {}
progress = dict(start=time.time(), done=0)


def static_report(ptx, shared, threads):
    """`tessera report`: ptxas figures, occupancy, loops."""
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(ptx)
        file.flush()
        done = subprocess.run([os.environ["PROGRAM"], "report", file.name, "--json", "--shared", str(shared), "--threads",
                               str(threads)], capture_output=True, text=True)
    if done.returncode:
        raise simulator.SimError(done.stderr.strip())
    return json.loads(done.stdout)


def start_seconds():
    """A process, its worker, a kernel of one line that nobody compiled before."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "one.py"
        file.write_text("import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
                        f"def one(X):\n    tl.store(X, {time.time()})\n")
        begin = time.time()
        subprocess.run([os.environ["PROGRAM"], "compile", str(file), "--kernel", "one", "--target", options.target, "--signature",
                        "X=*fp32:16", "--emit", "ptx,meta", "--output", folder], check=True, capture_output=True)
        return time.time() - begin


def seconds_of(compile_once):
    """What simulator.totals counts for it."""
    before = simulator.totals["compile_seconds"]
    compile_once()
    return simulator.totals["compile_seconds"] - before


def ptxas_seconds(ptx):
    import triton
    ptxas = pathlib.Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "ptxas"
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(ptx)
        file.flush()
        begin = time.time()
        subprocess.run([str(ptxas), f"--gpu-name={options.target}", "-lineinfo", "-o", os.devnull, file.name], check=True,
                       capture_output=True)
        return time.time() - begin


def figures(ptx, shared, threads, compile_seconds, reply):
    report, counters = static_report(ptx, shared, threads), reply["counters"]
    return dict(
        compile_ms=round(1e3 * compile_seconds, 1), registers=report["registers"], stack=report["stack"],
        spill=report["spill_stores"] + report["spill_loads"], shared=shared, blocks_per_sm=report["blocks_per_sm"],
        loop_non_tensor_per_tensor=report["loop_non_tensor_per_tensor"], async_stages=report["async_stages"],
        executed_warp_instructions=counters["warp_instructions"], tensor_instructions=counters["tensor_instructions"],
        global_sectors=counters["global_sectors"], bank_conflicts=counters["bank_conflicts"],
        shared_passes=counters["shared_ways"],
        barriers=counters["barriers"])


def copies(args):
    """Arguments that a launch may overwrite; views of one storage stay views of one storage."""
    made = {}
    result = []
    for value in args:
        if isinstance(value, torch.Tensor):
            storage = value.untyped_storage()
            if storage.data_ptr() not in made:
                made[storage.data_ptr()] = storage.clone()
            copy = torch.empty(0, dtype=value.dtype).set_(
                made[storage.data_ptr()], value.storage_offset(), value.shape, value.stride())
            if getattr(value, "unwritten", False):
                simulator.mark_unwritten(copy)
            value = copy
        result.append(value)
    return result


def default_options(path, name):
    """num_warps and num_stages of the decorator's first Config."""
    harness.kernel(path, name)
    found = getattr(harness._base.loaded[path], name)
    while type(found).__name__ in ("Autotuner", "Heuristics"):
        if type(found).__name__ == "Autotuner":
            return dict(num_warps=found.configs[0].num_warps, num_stages=found.configs[0].num_stages)
        found = found.fn
    return dict(num_warps=4, num_stages=3)


def measure(row, side, run, again):
    """run(): compiles and launches, gives (ptx, shared, threads, reply); again(): compiles once more."""
    try:
        first = []
        seconds = seconds_of(lambda: first.append(run()))
        seconds = min(seconds, seconds_of(again))
        if side == "ours":
            seconds -= min(start_seconds(), start_seconds())
        ptx, shared, threads, reply = first[0]
        row[side] = figures(ptx, shared, threads, max(seconds, 1e-3), reply)
    except (simulator.Finding, simulator.SimError) as error:
        row[side] = dict(error=str(error)[:2000])


def launch(path, name, grid, *args, **constexprs):
    if not all(grid):
        return
    fn, own = harness.kernel(path, name), default_options(path, name)
    theirs = dict(own, enable_fp_fusion=True)
    key = (path, name, tuple(sorted((k, str(v)) for k, v in constexprs.items())),
           tuple(str(v.dtype) for v in args if isinstance(v, torch.Tensor)))
    if key not in rows and (not options.only or options.only in name):
        instance = name + "".join(f" {k}={v}" for k, v in sorted(constexprs.items()))
        row = rows[key] = dict(kernel=f"kernels/{path}:{name}", instance=instance, dtype=key[3][0] if key[3] else "",
                               target=options.target, **own)

        def triton():
            reply = simulator.launch_triton(fn, tuple(grid), copies(args), constexprs, theirs)
            done = list(simulator._compiled.values())[-1]
            simulator.totals["compile_seconds"] += ptxas_seconds(done.ptx)  # ours includes it
            return done.ptx, done.shared, 32 * done.warps, reply

        def ours():
            reply = simulator.launch_tessera(ROOT / "kernels" / path, name, fn, tuple(grid), copies(args), constexprs, own)
            done = list(simulator._compiled.values())[-1]
            return done.ptx, done.shared, done.threads, reply

        signature, constants, attributes, _ = simulator.specialize(fn, args, constexprs)

        def triton_again():
            done = simulator.Compiled(simulator.ASTSource(fn, signature, constants, attributes), theirs)
            simulator.totals["compile_seconds"] += ptxas_seconds(done.ptx)

        def ours_again():
            os.environ["TESSERA_CACHE_DIR"] = tempfile.mkdtemp(prefix="tessera-codegen-")  # nothing is found there
            simulator.OwnCompiled(ROOT / "kernels" / path, name, signature, constants, attributes, own)

        measure(row, "triton", triton, triton_again)
        measure(row, "ours", ours, ours_again)
        progress["done"] += 1
        print(f"[{progress['done']:3d}] {time.time() - progress['start']:5.0f} s  {name} "
              f"{'ERROR ' + row['ours']['error'].splitlines()[0] if 'error' in row['ours'] else 'ok'}", flush=True)
    try:  # The programs go on with the right results.
        simulator.launch_triton(fn, tuple(grid), args, constexprs, theirs)
    except simulator.Finding:
        pass


def run_programs():
    harness.launch = launch
    harness.use("tf32")
    harness.check = lambda *a, **k: None
    harness.finish = lambda: None
    import cases
    import kernels_shapes
    for program in ("nn", "forward", "backward"):
        cases.chosen = lambda: kernels_shapes.instances(options.quick)
        runpy.run_path(str(TRITON / f"{program}_test.py"), run_name="__main__")


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def summarize():
    """The bars, and the rows that miss each."""
    good = [r for r in rows.values() if "error" not in r["ours"] and "error" not in r["triton"]]
    apart = [r for r in good if r["triton"]["spill"] > PEER_SPILLS]
    compared = [r for r in good if r not in apart]
    ratio = lambda r, what: r["ours"][what] / r["triton"][what]
    both = lambda what: [r for r in compared if r["ours"][what] and r["triton"][what]]
    loops, executed, compiled = both("loop_non_tensor_per_tensor"), both("executed_warp_instructions"), both("compile_ms")
    worse = lambda what, sign=1: [r["instance"] for r in compared if sign * (r["ours"][what] or 0) > sign * (r["triton"][what] or 0)]
    summary = dict(
        rows=len(rows), compared=len(compared), apart=[r["instance"] for r in apart],
        failed=[r["instance"] for r in rows.values() if "error" in r["ours"]],
        peer_failed=[r["instance"] for r in rows.values() if "error" in r["triton"]],
        loop_ratio=geometric_mean([ratio(r, "loop_non_tensor_per_tensor") for r in loops]),
        loop_above_1_15=[r["instance"] for r in loops if ratio(r, "loop_non_tensor_per_tensor") > 1.15],
        executed_ratio=geometric_mean([ratio(r, "executed_warp_instructions") for r in executed]),
        compile_ratio=geometric_mean([ratio(r, "compile_ms") for r in compiled]),
        **{f"worse_{what}": worse(what) for what in ("spill", "tensor_instructions", "bank_conflicts", "global_sectors")},
        worse_blocks_per_sm=worse("blocks_per_sm", -1))
    bars = dict(
        all_compile=not summary["failed"], loop_ratio=(summary["loop_ratio"] or 9) <= 1.0,
        loop_above_1_15=not summary["loop_above_1_15"], executed_ratio=(summary["executed_ratio"] or 9) <= 0.95,
        compile_ratio=(summary["compile_ratio"] or 9) <= 0.6,
        **{name: not summary[name] for name in summary if name.startswith("worse_")})
    return summary, bars


def main():
    run_programs()
    summary, bars = summarize()
    commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    import triton
    result = dict(date=datetime.date.today().isoformat(), commit=commit, host=platform.machine(), triton=triton.__version__,
                  target=options.target, summary={options.target: summary}, bars=bars, rows=list(rows.values()))
    output = pathlib.Path(options.output)
    output.parent.mkdir(parents=True, exist_ok=True)
    temporary = output.with_suffix(".tmp")
    temporary.write_text(json.dumps(result, indent=1) + "\n")
    os.replace(temporary, output)
    for name, value in summary.items():
        print(f"{name:24s} {value if not isinstance(value, list) else f'{len(value)} {value[:4]}'}")
    missed = [name for name, holds in bars.items() if not holds]
    print("bars missed:", ", ".join(missed) or "none")
    sys.exit(bool(missed))


main()
