# bench/quickstart.py - the quick start twice: time, bits per byte, what each branch of NSA adds, and whether both runs agree.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""python3 bench/quickstart.py build/release [result=FILE] [key=value of the run ...]

Runs are new processes one after the other and read the same cache of kernels. They agree where the weights and the optimizer's state of
the last checkpoint have the same bytes and every step the same loss. `earlier=NAME:FOLDER` adds the metrics of a run that is there already.
Bars: five minutes of training, 2.10 bits per byte, 0.02 bits for every branch."""
import datetime
import hashlib
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

KEPT = ["val_bpb", "val_bpb_without_cmp", "val_bpb_without_sel", "val_bpb_without_win", "bpb_by_position", "train_seconds", "tokens_per_s", "steps",
        "tokens", "parameters", "selected_fraction", "kernels_compiled_after_step_1", "data_sha256"]


def figures(folder):
    metrics = json.loads((folder / "metrics.json").read_text())
    row = {name: metrics[name] for name in KEPT}
    row["branches"] = {name: metrics["val_bpb_without_" + name] - metrics["val_bpb"] for name in ("cmp", "sel", "win")}
    return row


def train(build, folder, settings):
    command = [str(build / "bin/tessera"), "train", "--config", "configs/quickstart.yaml", "panel=false", "resume=never", "out=%s" % folder, *settings]
    if subprocess.run(command, check=False).returncode:
        sys.exit("ended with an error: " + " ".join(command))
    checkpoint = max((folder / "ckpt").glob("step_*"))
    digests = {}
    for path in sorted(checkpoint.glob("*.safetensors")):
        digests[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    losses = [json.loads(line).get("bpb") for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return dict(figures(folder), files=digests), losses


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    result = next((text[7:] for text in sys.argv[2:] if text.startswith("result=")), None)
    earlier = [text[8:].split(":", 1) for text in sys.argv[2:] if text.startswith("earlier=")]
    settings = [text for text in sys.argv[2:] if not text.startswith(("result=", "earlier="))]
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name:
        runs = [train(build, pathlib.Path(name) / run, settings) for run in ("first", "second")]
    rows = [row for row, _ in runs]
    same = rows[0]["files"] == rows[1]["files"] and bool(rows[0]["files"]) and runs[0][1] == runs[1][1]
    met = {"minutes": max(row["train_seconds"] for row in rows) <= 300, "bits": rows[0]["val_bpb"] <= 2.10,
           "branches": min(rows[0]["branches"].values()) >= 0.02, "second_run_bit_for_bit": same}
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.processor())
    commit = subprocess.run(["git", "describe", "--always", "--dirty", "--exclude=*"], check=True, capture_output=True, text=True).stdout.strip()
    report = {"what": "the quick start twice", "command": "bench/quickstart.py " + " ".join(sys.argv[1:]), "commit": commit,
              "date": str(datetime.date.today()), "machine": "%d cores of an %s" % (os.cpu_count(), model), "load_before": load, "met": met,
              "runs": rows, "earlier": {name: figures(pathlib.Path(folder)) for name, folder in earlier}}
    if result:
        pathlib.Path(result).write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(met))
    return 0 if all(met.values()) else 1


sys.exit(main())
