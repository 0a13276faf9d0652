# tests/bench/scale_test.py - bench/scale.py: its buckets are those of a run of two processes, its bytes those of the formula, its waits simple cases.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import json
import math
import os
import re
import struct
import subprocess

import pytest
import scale
from repository import BUILD

MODEL = dict(vocab_size=256, dim=64, n_layers=3, n_heads=4, n_kv_groups=2, d_k=16, d_v=16, mlp_dim=128)


@pytest.mark.parametrize("megabytes", [0.02, 0.06])
def test_buckets_and_bytes_are_those_of_a_run(tmp_path, megabytes):
    (tmp_path / "text").write_text("the tile is laid upon stone. " * 2000)
    settings = ["model.%s=%d" % item for item in MODEL.items() if item[0] != "vocab_size"]
    done = subprocess.run([BUILD / "bin/tessera-train", "train", "--nproc", "2", "kernels=torch", "panel=false", "threads=1", "data.path=text",
                           "out=run", "model.tied_head=true", *settings, "nsa.l=8", "nsa.d=4", "nsa.l_sel=16", "nsa.n_sel=4", "nsa.w=16", "train.seq_len=64",
                           "train.batch_size=2", "train.steps=1", "train.warmup=1", "train.log_every=1", "train.final_windows=2",
                           "runtime.ddp_bucket_mb=%g" % megabytes], cwd=tmp_path, capture_output=True, text=True, env=dict(os.environ))
    assert done.returncode == 0, done.stderr
    stored = (tmp_path / "run/ckpt/step_00000001/model.safetensors").read_bytes()
    [size] = struct.unpack("<Q", stored[:8])
    shapes = {name: tuple(value["shape"]) for name, value in json.loads(stored[8:8 + size]).items() if name != "__metadata__"}
    assert dict(scale.parameters(MODEL)) == shapes
    found = scale.buckets(scale.parameters(MODEL), megabytes)
    record = json.loads((tmp_path / "run/metrics.jsonl").read_text().splitlines()[-1])
    assert len(found) == record["buckets"] > 2
    assert sorted(name for _, names in found for name in names) == sorted(shapes)
    # The line at the start has the bytes of all gradients, without the elements between parameters.
    told = float(re.search(r"those of a step are ([\d.]+) MB", done.stderr)[1])
    assert sum(size for size, _ in found) * 4 / 1e6 == pytest.approx(told, abs=0.06)


def test_each_rank_issues_the_bytes_of_its_buckets():
    sizes = [1000, 64, 1]
    for ranks in (2, 64):
        assert scale.counted(ranks, sizes, "fp32") == [4000, 256, 4, 32]
        assert scale.counted(ranks, sizes, "bf16") == [2000, 128, 2, 32]


def test_the_wait_of_simple_cases():
    late, early = (["embedding"], 8e9), (["norm"], 8e9)
    link, network = (scale.SHARE * rate for rate in scale.LINKS.values())
    assert scale.waits(1, [late], 4, 1.0) == 0
    # A bucket of the end of the pass is not hidden; one that fits into the pass is.
    assert scale.waits(2, [late], 4, 1.0) == pytest.approx(8e9 / link + 2 * scale.HOP)
    assert scale.waits(2, [early], 4, 1.0) == 0
    assert scale.waits(2, [late, early], 4, 1.0) == pytest.approx(8e9 / link + 2 * scale.HOP)
    assert scale.waits(16, [late], 4, 1.0) == pytest.approx(30 * (5e8 / network + scale.HOP))
    assert scale.ready(["blocks.0.mlp.in", "blocks.3.mlp.in"], 4, 2.0) == pytest.approx(2.0)
    assert scale.ready(["blocks.3.mlp.in"], 4, 2.0) == pytest.approx(0.5)
    assert math.isclose(scale.ready(["norm", "blocks.2.gate.in"], 4, 2.0), 1.0)
