# bench/memory.py - memory of training runs compared with the estimate of tessera train --dry-run, at each level of recomputation.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""The most memory of runs of 3 steps above that of a tiny run, compared with the estimate of tessera train --dry-run.

The estimate: weights, gradients and moments, and what a micro-batch takes, less the same of the tiny model. Each run is measured twice: as
the program runs, where glibc keeps freed memory for later, and with every block above 64 KiB given back when it is freed
(MALLOC_MMAP_THRESHOLD_), which leaves what the tensors take; the estimate may differ from that by a tenth. Losses must not depend on
runtime.gradient_checkpointing."""
import functools
import pathlib
import re
import tempfile

UNIT = {"B": 1, "KiB": 2 ** 10, "MiB": 2 ** 20, "GiB": 2 ** 30}
HEADS = ["model.heads=8", "model.kv_heads=2", "model.key_dim=32", "model.value_dim=32", "train.steps=3"]
COMMON = ["model.dim=256", "model.layers=6", "model.mlp_dim=1024", "train.seq_len=512", "train.batch_size=4", *HEADS]
TINY = ["model.dim=16", "model.layers=1", "model.mlp_dim=16", "train.seq_len=64", "train.batch_size=1", *HEADS]
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


def rows(options):
    return {name: name for name in RUNS}


def settings_of(folder, settings):
    text = folder / "text"
    text.write_bytes(bytes(32 + i * i % 89 for i in range(200000)))
    return ["threads=1", "data.path=%s" % text, "train.save_every=0", "train.log_every=1", "train.final_windows=1", *settings]


def run(context, settings, allocator):
    """(most bytes of the process, its losses)."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        _, records = context.train(folder / "run", *settings_of(folder, settings), **ALLOCATORS[allocator])
    records = [record for record in records if "bpb" in record]
    return records[-1]["memory_most_bytes"], [record["bpb"] for record in records]


def estimate(context, settings):
    """Bytes of weights, gradients and moments; of a micro-batch."""
    with tempfile.TemporaryDirectory() as name:
        said = context.start([context.program("tessera-train"), "train", "panel=false", *settings_of(pathlib.Path(name), settings), "--dry-run"])
    found = re.search(r"memory: (\S+) (\S+) of weights.* about (\S+) (\S+) for a micro-batch", said.out + said.err)
    return float(found[1]) * UNIT[found[2]], float(found[3]) * UNIT[found[4]]


@functools.cache
def tiny(context, kind, allocator):
    """Bytes that the process of a tiny model takes above the estimate."""
    settings = [*TINY, *kind]
    return run(context, settings, allocator)[0] - sum(estimate(context, settings))


def measure(name, context):
    settings = RUNS[name]
    kind = tuple(s for s in settings if s.startswith(("attention=", "runtime.precision=")))
    state, activations = estimate(context, [*COMMON, *settings])
    record = {"run": name, "settings": settings, "state_bytes": int(state), "micro_batch_bytes": int(activations),
              "estimated_bytes": int(state + activations)}
    for allocator in ALLOCATORS:
        most, record["bpb"] = run(context, [*COMMON, *settings], allocator)
        bytes_ = most - tiny(context, kind, allocator)
        record[allocator] = {"measured_bytes": int(bytes_), "estimated_of_measured": round((state + activations) / bytes_, 3)}
    same = [other["bpb"] for other in context.records if other["run"].startswith("nsa, ") or other["run"] == "nsa"]
    if name.startswith("nsa, ") and same and same[0] != record["bpb"]:
        record["failed"] = "losses depend on " + RECOMPUTE[:-1]
    return dict(record, met=abs(record["given_back"]["estimated_of_measured"] - 1) <= 0.1)


def summary(records, context):
    return {"common": COMMON}
