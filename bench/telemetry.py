# bench/telemetry.py - what a run's telemetry costs: its time with every step logged, with every tenth, with none.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Seconds of the steps of a quick start by how many steps are logged, least of several runs.

The quick start's model is trained with the same settings but train.log_every, alternately, in another order each round; the runs' losses must
not depend on it. A logged step gathers gates and selections and writes a line of metrics.jsonl and TensorBoard's events. Heartbeats are
written in all of them. The time is that of the training steps alone, of one thread: other work on the machine is then on another core."""
import pathlib
import tempfile

from harness import rotated

EVERY = {"every step": 1, "every tenth step": 10, "none but first and last": 10 ** 9}
OPTIONS, QUICK, ROUNDS = {"steps": 80}, {"steps": 2}, 5


def rows(options):
    return {"quick start": None}


def measure(row, context):
    steps, seconds, losses = context.options.steps, {name: [] for name in EVERY}, set()
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(context.rounds):
            for name, every in rotated(EVERY.items(), turn):
                metrics, _ = context.train(pathlib.Path(folder) / ("%d_%d" % (turn, every)), "--config", "configs/quickstart.yaml", "threads=1",
                                           "train.steps=%d" % steps, "train.log_every=%d" % every, "train.final_windows=1",
                                           "train.save_every=0", "train.eval_every=0")
                seconds[name].append(metrics["train_seconds"])
                losses.add(metrics["val_bpb"])
    assert len(losses) == 1, "losses depend on train.log_every: %s" % losses
    least = {name: min(values) for name, values in seconds.items()}
    base = least["none but first and last"]
    return {"seconds": seconds, "least": least, "ms_of_a_logged_step": 1e3 * (least["every step"] - base) / steps,
            "above_none": {name: value / base - 1 for name, value in least.items()}}
