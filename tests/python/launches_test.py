# tests/python/launches_test.py - kernels that an NSA layer launches, forward and backward: how many, which, and nothing else.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""The launches are listed and not run, with the kernels that a GPU has (TESSERA_KERNELS_OF=gpu)."""
import os

import torch
from torch.profiler import ProfilerActivity, profile

os.environ.setdefault("TESSERA_KERNELS_OF", "gpu")
torch.ops.load_library(os.environ["LIBTESSERA_TORCH"])
ops = torch.ops.tessera
internal = torch.ops.tessera_internal

# The users' own: 12 query heads, 2 key heads, 64 channels, two sequences.
BATCH, HEADS, KEY_HEADS, SIZE = 2, 12, 2, 64
FORWARD, BACKWARD = 6, 12
# Of torch's own operations those that a GPU would launch a kernel for.
WRITES = {"aten::zero_", "aten::fill_", "aten::copy_", "aten::add", "aten::add_", "aten::sub_", "aten::mul"}


def layer(length, dtype=torch.bfloat16):
    """(inputs, arguments) of nsa_attention at l=32 d=16 l'=64 n=16 w=512; no contents matter."""
    tokens = BATCH * length
    cu = torch.arange(0, tokens + 1, length, dtype=torch.int32)
    cu_cmp = ops.compressed_offsets(cu, 32, 16)
    leaf = lambda *shape: torch.zeros(shape, dtype=dtype, requires_grad=True)
    inputs = [leaf(tokens, HEADS, SIZE), *[leaf(tokens, KEY_HEADS, SIZE) for _ in range(6)], leaf(tokens, KEY_HEADS, 3)]
    return inputs, (*inputs, cu, cu_cmp, length, int(cu_cmp[-1]), 32, 16, 64, 16, 512)


def launched(body):
    """(kernels in order, torch's own operations that write)."""
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        body()
    events = sorted(seen.events(), key=lambda e: e.time_range.start)
    kernels = [e.name.removeprefix("kernel ") for e in events if e.name.startswith("kernel ")]
    return kernels, [e.name for e in events if e.name in WRITES]


def check(what, body, most):
    kernels, others = launched(body)
    print(f"{what}: {len(kernels)} launches: {', '.join(kernels)}")
    assert len(kernels) > 0
    assert len(kernels) <= most, what
    assert others == [], what


def test_a_layer():
    for length in (2048, 8192):
        inputs, arguments = layer(length)
        weight = torch.zeros(inputs[0].shape, dtype=torch.bfloat16)
        internal.begin_listing(False)
        try:
            out = []
            check(f"{length} tokens, forward", lambda: out.append(ops.nsa_attention(*arguments)[0]), FORWARD)
            check(f"{length} tokens, backward", lambda: torch.autograd.grad(out[0], inputs, weight), BACKWARD)
        finally:
            internal.end_listing(False)
