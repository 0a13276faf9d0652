# bench/recompute.py - memory and time of a step at each level of runtime.gradient_checkpointing.
# SPDX-License-Identifier: Apache-2.0
"""python3 bench/recompute.py result=FILE [steps=3] [key=value of tessera train ...]

TESSERA_TRAIN names the program. Memory is the most that the process had, less what it has when a run of one short sequence
ends: what activations and their gradients take. Losses of all levels must be equal."""
import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

SIZES = ["attention=nsa", "model.dim=128", "model.layers=8", "model.heads=4", "model.kv_heads=2", "model.key_dim=32", "model.value_dim=32",
         "model.mlp_dim=512", "train.seq_len=512", "train.batch_size=4"]


def run(folder, out, *more):
    done = subprocess.run([os.environ["TESSERA_TRAIN"], "train", "panel=false", "threads=1", "data.path=" + str(folder / "text"),
                           "out=" + str(folder / out), "train.save_every=0", "train.log_every=1", "train.final_windows=1", *more],
                          stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return [json.loads(line) for line in (folder / out / "metrics.jsonl").read_text().splitlines() if '"bpb"' in line]


def main():
    given = dict(argument.split("=", 1) for argument in sys.argv[1:])
    result, steps = given.pop("result"), given.pop("steps", "3")
    settings = [*SIZES, *(key + "=" + value for key, value in given.items())]
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "text").write_bytes(bytes(32 + i * i % 89 for i in range(200000)))
        small = run(folder, "small", *settings, "train.steps=1", "train.seq_len=64", "train.batch_size=1")
        for level in ("none", "mlp", "attention", "full"):
            records = run(folder, level, *settings, "train.steps=" + steps, "runtime.gradient_checkpointing=" + level)
            rows.append({"level": level, "activation_bytes": records[-1]["memory_most_bytes"] - small[-1]["memory_most_bytes"],
                         "step_ms": min(record["step_ms"] for record in records), "bpb": [record["bpb"] for record in records]})
    if any(row["bpb"] != rows[0]["bpb"] for row in rows):
        sys.exit("losses depend on the level: %r" % rows)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    for row in rows:
        row["of_none"] = round(row["activation_bytes"] / rows[0]["activation_bytes"], 3)
        print("%(level)-9s %(activation_bytes)12d bytes (%(of_none)g of none) %(step_ms)8.0f ms" % row)
    pathlib.Path(result).write_text(json.dumps(
        {"about": "most memory of a step above that of a short one, by runtime.gradient_checkpointing; losses are equal",
         "command": "python3 bench/recompute.py " + " ".join(sys.argv[1:]), "settings": settings, "commit": commit,
         "machine": "%s, %d cores, shared with other work: times say nothing" % (platform.machine(), os.cpu_count()),
         "date": str(datetime.date.today()), "levels": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
