# bench/neighbours.py - what other work on the machine costs a training run on the CPU.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Tokens per second of the quick start on two cores: alone, with one busy loop, and two runs at once, each compared with one thread alone.

A rate is the median over the second half of the steps, which leaves out compilation. `before` is the build folder of an earlier commit: its
trainer is measured alternately in the same run. `steps` are those of each training run. On a machine with more cores, start the benchmark
with `taskset -c 0,1`."""
import contextlib
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading

OPTIONS, QUICK, ROUNDS = {"steps": 200, "before": ""}, {"steps": 4}, 3
# Name of the row: threads, runs at once, busy loops, least ratio to one thread alone.
CASES = {"one thread alone": (1, 1, 0, None), "two threads alone": (2, 1, 0, 1.7), "two threads, one busy loop": (2, 1, 1, 0.95),
         "two runs of two threads": (2, 2, 0, 0.85)}


def rows(options):
    return {"quick start": None}


@contextlib.contextmanager
def busy(loops):
    """Processes that use a core each and do nothing."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(loops)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def rates(context, program, threads, runs, steps):
    """Tokens per second of each of `runs` runs at once."""
    found = [0.0] * runs

    def run(index, folder):
        _, records = context.train(pathlib.Path(folder) / str(index), "--config", "configs/quickstart.yaml", "threads=%d" % threads,
                                   "train.steps=%d" % steps, "train.warmup_steps=1", "train.log_every=1", "train.final_windows=1",
                                   "train.save_every=0", "train.eval_every=0", program=program)
        found[index] = statistics.median(record["tokens_per_s"] for record in records[len(records) // 2:] if "tokens_per_s" in record)

    with tempfile.TemporaryDirectory() as folder:
        workers = [threading.Thread(target=run, args=(index, folder)) for index in range(runs)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    return found


def measure(row, context):
    steps, before = context.options.steps, context.options.before
    programs = {"now": context.program("tessera-train")}
    if before:
        programs["before"] = pathlib.Path(before).resolve() / "bin/tessera-train"
    found = {side: {case: [] for case in CASES} for side in programs}
    for _ in range(context.rounds):
        for case, (threads, runs, loops, _) in CASES.items():
            for side, program in programs.items():
                with busy(loops):
                    found[side][case] += rates(context, program, threads, runs, steps)
    record = {"cores": len(os.sched_getaffinity(0)), "tokens_per_s": found}
    for side, cases in found.items():
        alone = statistics.median(cases["one thread alone"])
        record["ratio_" + side] = {case: statistics.median(values) / alone for case, values in cases.items()}
    met = {case: record["ratio_now"][case] >= least for case, (*_, least) in CASES.items() if least}
    return dict(record, targets={case: least for case, (*_, least) in CASES.items() if least}, met=all(met.values()), met_each=met)
