# bench/telemetry.py - what a run's telemetry costs: CPU time with every step logged, with every tenth, with none.
# SPDX-License-Identifier: Apache-2.0
"""python3 bench/telemetry.py build/release [rounds=5] [steps=200] [result=FILE]

The quick start's model is trained with the same settings but train.log_every, in turns; beside the runs of each kind stand
their losses, which must not depend on it. A logged step has gates and selections gathered, a line of metrics.jsonl and TensorBoard's
events. Heartbeats are written in all of them. The figure is the CPU time of the processes, all threads, least of the rounds: that of a
machine with other work is about that of a free one."""
import datetime
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

EVERY = {"every step": 1, "every tenth step": 10, "none but first and last": 10 ** 9}


def train(build, folder, steps, every):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([build / "bin/tessera-train", "train", "--config", "configs/quickstart.yaml", "out=%s" % folder, "panel=false",
                    "train.steps=%d" % steps, "train.log_every=%d" % every, "train.final_windows=1", "train.save_every=0",
                    "train.eval_every=0", "resume=never"], check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    build = pathlib.Path(sys.argv[1])
    options = dict(part.split("=", 1) for part in sys.argv[2:])
    rounds, steps = int(options.get("rounds", 5)), int(options.get("steps", 200))
    seconds, losses = {name: [] for name in EVERY}, {}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(rounds):
            for name, every in EVERY.items():
                out = pathlib.Path(folder) / ("%d_%d" % (turn, every))
                seconds[name].append(train(build, out, steps, every))
                losses[name] = json.loads((out / "metrics.json").read_text())["val_bpb"]
    assert len(set(losses.values())) == 1, losses
    least = {name: min(values) for name, values in seconds.items()}
    base = least["none but first and last"]
    result = {"what": "CPU seconds of a quick start of %d steps, least of %d runs in turns, by how many steps are logged" % (steps, rounds),
              "command": "bench/telemetry.py build/release rounds=%d steps=%d result=bench/results/telemetry_cpu.json" % (rounds, steps),
              "commit": subprocess.run(["git", "rev-parse", "--short", "HEAD"], check=True, capture_output=True, text=True).stdout.strip(),
              "date": str(datetime.date.today()), "load": os.getloadavg()[0], "cpu_seconds": seconds, "least": least,
              "above_none": {name: value / base - 1 for name, value in least.items()}}
    text = json.dumps(result, indent=1) + "\n"
    if "result" in options:
        pathlib.Path(options["result"]).write_text(text)
    print(text, end="")


main()
