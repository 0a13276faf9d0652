# bench/replay_rates.py - how many launches of flash-linear-attention and Liger-Kernel replay right, on each target.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Launches of flash-linear-attention and Liger-Kernel under Triton's interpreter, replayed on the cpu and on a simulated GPU.

Calls the libraries' functions (bench/codegen/libraries.py) on CPU tensors, records every launch as a case (docs/cases.md) in
build/bench/cases, replays all of them and counts. A launch that Triton's interpreter itself cannot run is listed as not recorded, with the
interpreter's reason. Fetches the libraries into build/bench/peers."""
import collections
import json
import os
import sys

from codegen import published
from harness import ROOT

DEFAULTS = {"num_warps": 4, "num_stages": 3}  # of a kernel that has them as parameters; Triton's launcher fills these in
QUICK, OPTIONS = {"calls": 1}, {"calls": 0}  # the last calls of each library; 0: all


def rows(options):
    return {target: target for target in ("cpu", "sim:sm_80")}


def record_launches(folder, recorder, unordered, lost):
    """Records the interpreter's launches; lost gets (kernel, reason) of those that it cannot run."""
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
            # Atomics put these results in any order.
            recorder.record(folder / f"{name}_{seen[name]}", self, grid, *args, **kept,
                            compare={"csr_indices": "unordered"} if name in unordered else None)
        except Exception as error:  # the interpreter's limits, which the library's caller may hide
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


def record_all(folder, most):
    """Records the launches of all calls; recorded.json in the folder has those that failed."""
    os.environ["TRITON_INTERPRET"] = "1"  # before triton is imported
    site, why = published.fetch()
    if site is None:
        raise RuntimeError("the libraries cannot be fetched: %s" % why)
    sys.path += [str(ROOT / "tests/replay"), str(site)]
    import record_from_triton as recorder
    recorder.mend_libdevice()
    from codegen import libraries
    lost, broken = [], []
    folder.mkdir(parents=True, exist_ok=True)
    record_launches(folder, recorder, libraries.UNORDERED, lost)
    for library, calls in libraries.CALLS.items():
        for name, call in calls[-most:]:
            try:
                call()
            except Exception as error:
                broken.append((library, name, f"{type(error).__name__}: {error}"[:200]))
    (folder / "recorded.json").write_text(json.dumps({"calls_that_did_not_end": broken, "not_recorded": lost}))


def cases(context):
    return context.root / ("build/bench/cases" + ("_quick" if context.quick else ""))


def measure(target, context):
    folder = cases(context)
    if not (folder / "recorded.json").exists():
        record_all(folder, context.options.calls)
    out = folder / ("report-%s.json" % target.replace(":", "-"))
    context.start([context.program("tessera"), "replay", folder, "--device", target, "--json", out], check=False)
    reports = json.loads(out.read_text())
    counts = collections.Counter(report["status"] for report in reports)
    others = [{"case": r["name"], "kernel": r["kernel"], "status": r["status"], "message": r["message"][:300]} for r in reports if r["status"] != "ok"]
    return {"target": target, "launches": len(reports), **{status: counts[status] for status in ("ok", "mismatch", "unsupported", "error")},
            "rate": round(counts["ok"] / max(1, len(reports)), 4), "others": others}


def summary(records, context):
    return {"libraries": [line.split(" ")[0] for line in published.pins() if "==" in line], **json.loads((cases(context) / "recorded.json").read_text())}
