# bench/telemetry.py - what a run's telemetry costs: its time with every step logged, with every tenth, with none.
# SPDX-License-Identifier: Apache-2.0
"""python3 bench/telemetry.py build/release [rounds=5] [steps=80] [result=FILE]

The quick start's model is trained with the same settings but train.log_every, in turns, in another order each round; the runs' losses
must not depend on it. A logged step has gates and selections gathered, a line of metrics.jsonl and TensorBoard's events. Heartbeats are
written in all of them. The figure is the time of the training steps alone, of one thread, least of the rounds, against that without
logged steps: other work on the machine is then on another core."""
import datetime
import json
import os
import pathlib
import subprocess
import sys
import tempfile

EVERY = {"every step": 1, "every tenth step": 10, "none but first and last": 10 ** 9}


def train(build, folder, steps, every):
    """(seconds of the steps, held-out loss)."""
    subprocess.run([build / "bin/tessera-train", "train", "--config", "configs/quickstart.yaml", "out=%s" % folder, "panel=false", "threads=1",
                    "train.steps=%d" % steps, "train.log_every=%d" % every, "train.final_windows=1", "train.save_every=0",
                    "train.eval_every=0", "resume=never"], check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    metrics = json.loads((folder / "metrics.json").read_text())
    return metrics["train_seconds"], metrics["val_bpb"]


def main():
    build = pathlib.Path(sys.argv[1])
    options = dict(part.split("=", 1) for part in sys.argv[2:])
    rounds, steps = int(options.get("rounds", 5)), int(options.get("steps", 80))
    seconds, losses = {name: [] for name in EVERY}, {}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(rounds):
            kinds = list(EVERY.items())
            for name, every in kinds[turn % 3:] + kinds[:turn % 3]:
                time, losses[name] = train(build, pathlib.Path(folder) / ("%d_%d" % (turn, every)), steps, every)
                seconds[name].append(time)
    assert len(set(losses.values())) == 1, losses
    least = {name: min(values) for name, values in seconds.items()}
    base = least["none but first and last"]
    result = {"what": "seconds of the %d steps of a quick start, least of %d runs in turns, by how many steps are logged" % (steps, rounds),
              "command": "bench/telemetry.py build/release rounds=%d steps=%d result=bench/results/telemetry_cpu.json" % (rounds, steps),
              "commit": subprocess.run(["git", "rev-parse", "--short", "HEAD"], check=True, capture_output=True, text=True).stdout.strip(),
              "date": str(datetime.date.today()), "seconds": seconds, "least": least, "load": os.getloadavg()[0],
              "ms_of_a_logged_step": 1e3 * (least["every step"] - base) / steps,
              "above_none": {name: value / base - 1 for name, value in least.items()}}
    text = json.dumps(result, indent=1) + "\n"
    if "result" in options:
        pathlib.Path(options["result"]).write_text(text)
    print(text, end="")


main()
