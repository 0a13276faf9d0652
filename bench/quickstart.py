# bench/quickstart.py - the quick start twice: time, bits per byte, the gain of each branch of NSA, and whether both runs agree.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""The quick start twice, each in a new process with the same cache of kernels.

The runs agree if the weights and the optimizer's state of the last checkpoint have the same bytes and every step the same loss. Targets:
five minutes of training, 2.10 bits per byte, 0.02 bits for every branch. settings=A,B are settings of both runs."""
import hashlib
import pathlib
import tempfile

KEPT = ["val_bpb", "val_bpb_without_cmp", "val_bpb_without_sel", "val_bpb_without_win", "bpb_by_position", "train_seconds", "tokens_per_s", "steps",
        "tokens", "parameters", "selected_fraction", "kernels_compiled_after_step_1", "data_sha256"]
OPTIONS, QUICK = {"settings": []}, {"settings": ["train.steps=2", "train.eval_every=0", "train.final_windows=1"]}


def rows(options):
    return {"first": "first", "second": "second"}


def measure(name, context):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "run"
        metrics, records = context.train(out, "--config", "configs/quickstart.yaml", *context.options.settings)
        checkpoint = max((out / "ckpt").glob("step_*"))
        files = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(checkpoint.glob("*.safetensors"))}
    losses = hashlib.sha256(repr([record.get("bpb") for record in records]).encode()).hexdigest()
    record = {"run": name, **{key: metrics[key] for key in KEPT},
              "branches": {key: metrics["val_bpb_without_" + key] - metrics["val_bpb"] for key in ("cmp", "sel", "win")},
              "files": files, "losses": losses}
    first = next((other for other in context.records if other["run"] == "first"), None)
    met = {"minutes": record["train_seconds"] <= 300, "bits": record["val_bpb"] <= 2.10, "branches": min(record["branches"].values()) >= 0.02}
    if name == "second" and first:
        met["second_run_bit_for_bit"] = bool(files) and (files, losses) == (first["files"], first["losses"])
    return dict(record, targets=met, met=all(met.values()))
