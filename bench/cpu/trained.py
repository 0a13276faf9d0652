# bench/cpu/trained.py - queries, keys, values and gate logits of the last layer of a trained model, over a text of any length.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import struct
import subprocess
import sys

import torch

HEADS, GROUPS, SIZE, LAYERS = 8, 2, 64, 2
GEOMETRY = (32, 16, 64, 16, 512)  # l, d, l', n, w of trained.yaml


def _tensors(path):
    data = path.read_bytes()
    length, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    return {name: torch.frombuffer(bytearray(data[8 + length + e["data_offsets"][0]:8 + length + e["data_offsets"][1]]),
                                   dtype=torch.float32).reshape(e["shape"]) for name, e in header.items() if e["dtype"] == "F32"}


def weights(context):
    """Of build/bench/trained; trained the first time, about two minutes on two cores."""
    folder = context.root / "build/bench/trained"
    if not list(folder.glob("ckpt/step_*/model.safetensors")):
        print("training the model whose selection is benchmarked (120 steps, once)", file=sys.stderr, flush=True)
        context.start([context.program("tessera-train"), "train", "--config", pathlib.Path(__file__).parent / "trained.yaml", "out=%s" % folder])
    found = sorted(folder.glob("ckpt/step_*/model.safetensors"))
    return _tensors(found[-1])


def _norm(x, weight):
    return torch.ops.tessera.rms_norm(x, weight, 1e-6)


def attention_inputs(w, layer, x, cu):
    """(q, keys of three branches, values of three branches, gate logits), packed, of that layer's input x."""
    at = {name.split(".", 2)[2]: value for name, value in w.items() if name.startswith("blocks.%d." % layer)}
    y = _norm(x, at["attention.norm"])
    turned = HEADS + 3 * GROUPS
    projected = y @ at["attention.qkv"].T
    cos, sin = torch.ops.tessera.rope_table(len(x), SIZE)
    rotated = torch.ops.tessera.rope(projected[:, :turned * SIZE].reshape(-1, turned, SIZE).contiguous(), cos, sin, cu, len(x))
    q, *keys = rotated.split([HEADS, GROUPS, GROUPS, GROUPS], 1)
    values = projected[:, turned * SIZE:].reshape(-1, 3 * GROUPS, SIZE).split(GROUPS, 1)
    hidden = torch.nn.functional.silu(y @ at["gate.in"].T + at["gate.in_bias"])
    logits = (hidden @ at["gate.out"].T + at["gate.out_bias"]).reshape(-1, GROUPS, 3)
    packed = [t.contiguous() for pair in zip(keys, values) for t in pair]
    return q.contiguous(), packed, logits.contiguous(), at


def attend(q, packed, logits, cu):
    """torch.ops.tessera.nsa_attention of this geometry."""
    block, stride, selection, kept, window = GEOMETRY
    ops, length = torch.ops.tessera, len(q)
    cu_cmp = ops.compressed_offsets(cu, block, stride)
    return ops.nsa_attention(q, *packed, logits, cu, cu_cmp, length, int(cu_cmp[-1]), block, stride, selection, kept, window,
                             gate_mode="sigmoid")


@torch.no_grad()
def inputs(context, length):
    """q [T, 8, 64], the six keys and values [T, 2, 64], gate logits [T, 2, 3] of the last layer, over the text it was trained on."""
    w = weights(context)
    text = subprocess.run(["bible", "-f", "gen1:1-rev22:21"], stdout=subprocess.PIPE, check=True).stdout
    cu = torch.tensor([0, length], dtype=torch.int32)
    x = torch.nn.functional.embedding(torch.tensor(list(text[:length])), w["embedding"])
    for layer in range(LAYERS):
        q, packed, logits, at = attention_inputs(w, layer, x, cu)
        if layer == LAYERS - 1:
            return q, packed, logits
        x = x + attend(q, packed, logits, cu)[0].reshape(length, -1) @ at["attention.output"].T
        x = x + (_norm(x, at["mlp.norm"]) @ at["mlp.in"].T).relu().square() @ at["mlp.out"].T
    raise AssertionError("no layer")
