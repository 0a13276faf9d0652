# bench/replay_rates.py - how many launches of flash-linear-attention and Liger-Kernel replay right, on each target.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Calls the libraries' own functions (bench/codegen/libraries.py) on CPU tensors under Triton's interpreter, records every launch
as a case (docs/cases.md), replays all of them on the cpu and on a simulated GPU, and writes the counts.

    python bench/replay_rates.py build/release [--record DIR] [--out bench/results/replay_libraries.json]

A launch that Triton's interpreter itself cannot run is listed as not recorded, with the interpreter's reason. Fetches the
libraries into build/bench/peers."""
import argparse
import collections
import importlib.util
import json
import os
import pathlib
import platform
import subprocess
import sys

os.environ["TRITON_INTERPRET"] = "1"  # before triton is imported
ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path += [str(ROOT / "bench" / "codegen"), str(ROOT / "tests" / "replay")]
import peers  # noqa: E402
import record_from_triton  # noqa: E402

TARGETS = ["cpu", "sim:sm_80"]
DEFAULTS = {"num_warps": 4, "num_stages": 3}  # of a kernel that has them as parameters; Triton's launcher fills these in


def record_launches(folder, lost):
    """Puts the interpreter's launches on record; lost gets (kernel, reason) of those that it cannot run."""
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.interpreter import InterpretedFunction
    launch, seen, depth = InterpretedFunction.run, collections.Counter(), []

    def run(self, *args, grid, warmup=False, **named):
        if depth or warmup:
            return launch(self, *args, grid=grid, warmup=warmup, **named)
        depth.append(self)
        name = self.fn.__name__
        try:
            kept = {k: v for k, v in named.items() if k in self.arg_names or k in ("num_warps", "num_stages")}
            kept.update({k: DEFAULTS[k] for k in DEFAULTS if k in self.arg_names and k not in kept})
            seen[name] += 1
            record_from_triton.record(folder / f"{name}_{seen[name]}", self, grid, *args, **kept,
                                      compare=compared(name))
        except Exception as error:  # the interpreter's own limits, which the library's caller may hide
            lost.append((name, f"{type(error).__name__}: {error}"[:200]))
            raise
        finally:
            depth.pop()

    def first_config(self, *args, **named):
        self.nargs = dict(zip(self.arg_names, args))
        config = list(self.prune_configs(named))[0]
        if config.pre_hook:
            config.pre_hook({**self.nargs, **named, **config.all_kwargs()})
        return self.fn.run(*args, **named, **config.all_kwargs())

    InterpretedFunction.run = run
    for tuner in [Autotuner, *Autotuner.__subclasses__()]:
        tuner.run = first_config


def compared(name):
    """Kernels whose atomics put their results in any order: the results, as a list of any order."""
    import libraries
    return {"csr_indices": "unordered"} if name in libraries.UNORDERED else None


def record_all(folder):
    """[(library, call, reason)] of calls that did not end, and [(kernel, reason)] of launches that could not be recorded."""
    site, why = peers.fetch()
    if site is None:
        sys.exit(f"replay_rates: the libraries cannot be had: {why}")
    sys.path.append(str(site))
    record_from_triton.mend_libdevice()
    import libraries
    lost, broken = [], []
    record_launches(folder, lost)
    for library, calls in libraries.CALLS.items():
        for name, call in calls:
            try:
                call()
            except Exception as error:
                broken.append((library, name, f"{type(error).__name__}: {error}"[:200]))
            print(f"{library}: {name}: {len(list(folder.glob('*/case.json')))} launches so far", flush=True)
    return broken, lost


def replay(build, folder, target):
    out = folder / f"report-{target.replace(':', '-')}.json"
    subprocess.run([str(build / "bin/tessera"), "replay", str(folder), "--device", target, "--json", str(out)], check=False,
                   stdout=subprocess.DEVNULL)
    reports = json.loads(out.read_text())
    counts = collections.Counter(report["status"] for report in reports)
    return {"target": target, "launches": len(reports),
            **{status: counts[status] for status in ("ok", "mismatch", "unsupported", "error")},
            "rate": round(counts["ok"] / max(1, len(reports)), 4),
            "others": [{"case": r["name"], "kernel": r["kernel"], "status": r["status"], "message": r["message"][:300]}
                       for r in reports if r["status"] != "ok"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--record", type=pathlib.Path, default=ROOT / "build" / "bench" / "cases", help="folder of the cases")
    parser.add_argument("--replay-only", action="store_true", help="replay the cases that the folder holds already")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "bench" / "results" / "replay_libraries.json")
    options = parser.parse_args()
    noted = options.record / "recorded.json"
    if not options.replay_only:
        options.record.mkdir(parents=True, exist_ok=True)
        broken, lost = record_all(options.record)
        noted.write_text(json.dumps({"calls_that_did_not_end": broken, "not_recorded": lost}, indent=1) + "\n")
    rows = [replay(options.build, options.record, target) for target in TARGETS]
    for row in rows:
        print("{target}: {ok} of {launches} ok, {mismatch} mismatches, {unsupported} unsupported, {error} errors".format(**row))
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    options.out.write_text(json.dumps({
        "what": "launches of flash-linear-attention and Liger-Kernel under Triton's interpreter, replayed",
        "command": "python bench/replay_rates.py build/release", "commit": commit, "machine": platform.processor() or platform.machine(),
        "libraries": [line.split(" ")[0] for line in peers.pins() if "==" in line],
        **json.loads(noted.read_text()), "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
