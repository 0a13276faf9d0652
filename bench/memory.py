# bench/memory.py - memory of runs next to what tessera train --dry-run says, and at each level of recomputation.
# SPDX-License-Identifier: Apache-2.0
"""python3 bench/memory.py [only=NAME|...] [result=FILE]

TESSERA_TRAIN names the program. A run's memory is the most that its process had, less the most that one of a tiny model of the same
kind had; so is the estimate: weights, gradients and moments, and what a micro-batch takes. Each is measured twice: as the program
runs, where glibc keeps freed memory for later, and with every block above 64 KiB given back when it is freed
(MALLOC_MMAP_THRESHOLD_), which leaves what the tensors take; of that the estimate may differ by a tenth. Losses must not depend on
runtime.gradient_checkpointing."""
import datetime
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

UNIT = {"B": 1, "KiB": 2 ** 10, "MiB": 2 ** 20, "GiB": 2 ** 30}
COMMON = ["model.dim=256", "model.layers=6", "model.heads=8", "model.kv_heads=2", "model.key_dim=32", "model.value_dim=32",
          "model.mlp_dim=1024", "train.seq_len=512", "train.batch_size=4", "train.steps=3"]
TINY = ["model.dim=16", "model.layers=1", "model.heads=8", "model.kv_heads=2", "model.key_dim=32", "model.value_dim=32",
        "model.mlp_dim=16", "train.seq_len=64", "train.batch_size=1", "train.steps=3"]
ALLOCATORS = {"as_it_runs": {}, "given_back": {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TOP_PAD_": "0"}}
RECOMPUTE = "runtime.gradient_checkpointing="
RUNS = {
    "nsa": ["attention=nsa"],
    "nsa, mlp again": ["attention=nsa", RECOMPUTE + "mlp"],
    "nsa, attention again": ["attention=nsa", RECOMPUTE + "attention"],
    "nsa, all again": ["attention=nsa", RECOMPUTE + "full"],
    "nsa bf16": ["attention=nsa", "runtime.precision=bf16"],
    "nsa swiglu": ["attention=nsa", "model.mlp=swiglu"],
    "dense": ["attention=dense"],
    "dense bf16": ["attention=dense", "runtime.precision=bf16"],
    "dense, large vocabulary": ["attention=dense", "model.vocab_size=16384", "model.layers=2"],
    "dense, large model": ["attention=dense", "model.dim=512", "model.mlp_dim=4096", "train.seq_len=128", "train.batch_size=1"],
}


def train(folder, *more):
    return [os.environ["TESSERA_TRAIN"], "train", "panel=false", "threads=1", "data.path=" + str(folder / "text"),
            "train.save_every=0", "train.log_every=1", "train.final_windows=1", *more]


def run(command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, env={**os.environ, **more})
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout + done.stderr


def estimate(folder, settings):
    """Bytes of weights, gradients and moments; of a micro-batch."""
    found = re.search(r"memory: (\S+) (\S+) of weights.* about (\S+) (\S+) for a micro-batch", run(train(folder, *settings, "--dry-run")))
    return float(found[1]) * UNIT[found[2]], float(found[3]) * UNIT[found[4]]


def measure(folder, settings, **environment):
    out = tempfile.mkdtemp(dir=folder)
    run(train(folder, "out=" + out, *settings), **environment)
    records = [json.loads(line) for line in (pathlib.Path(out) / "metrics.jsonl").read_text().splitlines()]
    records = [record for record in records if "bpb" in record]
    return records[-1]["memory_most_bytes"], [record["bpb"] for record in records]


def main():
    given = dict(argument.split("=", 1) for argument in sys.argv[1:])
    rows, tiny = [], {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "text").write_bytes(bytes(32 + i * i % 89 for i in range(200000)))
        for label in given.get("only", "|".join(RUNS)).split("|"):
            settings = RUNS[label]
            kind = tuple(s for s in settings if s.startswith(("attention=", "runtime.precision=")))
            state, activations = estimate(folder, [*COMMON, *settings])
            row = {"run": label, "settings": settings, "state_bytes": int(state), "micro_batch_bytes": int(activations),
                   "estimated_bytes": int(state + activations)}
            for allocator, environment in ALLOCATORS.items():
                if (allocator, kind) not in tiny:
                    tiny[allocator, kind] = measure(folder, [*TINY, *kind], **environment)[0] - sum(estimate(folder, [*TINY, *kind]))
                most, row["bpb"] = measure(folder, [*COMMON, *settings], **environment)
                row[allocator] = {"measured_bytes": int(most - tiny[allocator, kind]),
                                  "estimated_of_measured": round((state + activations) / (most - tiny[allocator, kind]), 3)}
            rows.append(row)
            print("%-24s estimated %6.1f + %6.1f MiB: %.3f of what tensors take, %.3f of the process" % (
                label, state / 2 ** 20, activations / 2 ** 20, row["given_back"]["estimated_of_measured"],
                row["as_it_runs"]["estimated_of_measured"]), flush=True)
    same = [row["bpb"] for row in rows if row["run"] == "nsa" or "again" in row["run"]]
    if any(losses != same[0] for losses in same):
        sys.exit("losses depend on " + RECOMPUTE[:-1])
    if "result" in given:
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        pathlib.Path(given["result"]).write_text(json.dumps(
            {"about": "most memory of runs of 3 steps above that of a tiny run, next to the estimate of tessera train --dry-run",
             "command": "python3 bench/memory.py " + " ".join(sys.argv[1:]), "common": COMMON, "commit": commit,
             "machine": "%s, %d cores" % (platform.machine(), os.cpu_count()), "date": str(datetime.date.today()),
             "runs": rows}, indent=1) + "\n")
    sys.exit(0 if all(abs(row["given_back"]["estimated_of_measured"] - 1) <= 0.1 for row in rows) else 1)


if __name__ == "__main__":
    main()
