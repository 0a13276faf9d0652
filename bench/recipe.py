# bench/recipe.py - the quick start with each setting of the recipe alone: bits per byte, and the gain of each branch of NSA.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""The quick start with each setting of the recipe alone.

All rows have the data, seed and steps of configs/quickstart.yaml. `gain` is the row's bits per byte below the first row's. Every row of a
file has the same number of threads, because the count changes the order of some sums. settings=A,B are settings of all rows."""
import pathlib
import tempfile

KEPT = ["val_bpb", "val_bpb_without_cmp", "val_bpb_without_sel", "val_bpb_without_win", "steps", "tokens", "parameters",
        "kernels_compiled_after_step_1", "data_sha256"]
OPTIONS, QUICK = {"settings": []}, {"settings": ["train.steps=2", "train.eval_every=0", "train.final_windows=1"]}
ALONE = {
    "none": [],
    "qk_norm": ["model.qk_norm=true"],
    "softcap": ["model.logit_softcap=15"],
    "value_embeddings": ["model.value_embeddings=2"],
    "bigram_embeddings": ["model.bigram_embeddings=4096"],
    "polar_express": ["train.muon_iterations=polar_express"],
    "normuon": ["train.muon_normalize=true"],
    "cautious_decay": ["train.cautious_decay=true"],
    "head_rate": ["train.head_lr_factor=0.5"],
    # As many tokens: 600 steps of 4 x 256, then 2 x 512; 1200 steps of 1 x 512, then 3 x 512.
    "length_schedule": ["train.batch_schedule=[1:4, 601:2]", "train.length_schedule=[1:256, 601:512]"],
    "batch_schedule": ["train.batch_schedule=[1:1, 1201:3]"],
}


def rows(options):
    return {name: (name, settings) for name, settings in ALONE.items()}


def measure(row, context):
    name, settings = row
    with tempfile.TemporaryDirectory() as folder:
        metrics, _ = context.train(pathlib.Path(folder) / "run", "--config", "configs/quickstart.yaml", "threads=%d" % context.threads,
                                   *settings, *context.options.settings)
    record = {"run": name, "settings": settings, **{key: metrics[key] for key in KEPT},
              "branches": {key: metrics["val_bpb_without_" + key] - metrics["val_bpb"] for key in ("cmp", "sel", "win")}}
    first = next((other for other in context.records if other["run"] == "none"), None)
    return dict(record, gain=first["val_bpb"] - record["val_bpb"]) if first else record
