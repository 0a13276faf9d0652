# tests/python/memory_test.py - memory that nsa_attention takes at 65,536 tokens: its peak, and that nothing grows by the square.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Launches are listed and not run, with the kernels that a GPU has: tensors are allocated and never touched."""
import os
import pathlib

import torch
from torch.profiler import ProfilerActivity, profile

os.environ.setdefault("TESSERA_KERNELS_OF", "gpu")
torch.ops.load_library(os.environ["LIBTESSERA_TORCH"])
ops = torch.ops.tessera
internal = torch.ops.tessera_internal

HEADS, KEY_HEADS, SIZE = 64, 4, 128
LENGTH, STRIDE, SELECTION, SELECTED, WINDOW = 32, 16, 64, 16, 512
CHUNK, SORTED, PARTS = 512, 128, 8   # tokens of a chunk of an inverse list, and of a tile that is sorted; parts of compressed keys (docs/kernel-reference.md)


def allocations(body):
    """(result of body, bytes of each allocation and, negative, of each release, in order)."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        result = body()
    events = [e for e in seen.profiler.kineto_results.events() if e.name() == "[memory]"]
    return result, [e.nbytes() for e in sorted(events, key=lambda e: e.start_ns())]


def run(tokens):
    """Changes of memory in the forward and in the backward pass of a layer."""
    cu = torch.tensor([0, tokens], dtype=torch.int32)
    cu_cmp = ops.compressed_offsets(cu, LENGTH, STRIDE)
    leaf = lambda *shape: torch.empty(shape, dtype=torch.bfloat16, requires_grad=True)
    inputs = [leaf(tokens, HEADS, SIZE), *[leaf(tokens, KEY_HEADS, SIZE) for _ in range(6)], leaf(tokens, KEY_HEADS, 3)]
    weight = torch.empty(tokens, HEADS, SIZE, dtype=torch.bfloat16)
    internal.begin_listing(False)
    try:
        out, forward = allocations(lambda: ops.nsa_attention(*inputs, cu, cu_cmp, tokens, int(cu_cmp[-1]), LENGTH, STRIDE, SELECTION, SELECTED, WINDOW))
        _, backward = allocations(lambda: torch.autograd.grad(out[0], inputs, weight))
    finally:
        internal.end_listing(False)
    return forward, backward


def peak(changes):
    now = most = 0
    for change in changes:
        now += change
        most = max(most, now)
    return most


def expected(tokens):
    """Bytes at the peak of each pass, by the shapes of docs/kernel-reference.md; the backward pass's without what the forward pass left."""
    rows, blocks = tokens * HEADS, tokens // SELECTION + 1
    queries, keys, compressed = 2 * rows * SIZE, 2 * tokens * KEY_HEADS * SIZE, 2 * (tokens // STRIDE - 1) * KEY_HEADS * SIZE
    lists = KEY_HEADS * tokens * SELECTED * (4 + 8)
    forward = 4 * queries + 2 * compressed + 3 * 4 * rows + lists + 4 * tokens * KEY_HEADS * 3
    # When dk and dv of the selected branch are made: dq, the rows of the branches, gradients of the compressed keys and values and of
    # the selected ones; the inverse index, and the sums of its chunks; the parts of the compressed ones, which are added up with these.
    chunks = tokens * SELECTED // CHUNK + blocks
    part = KEY_HEADS * chunks * SELECTION * 2 * SIZE * 4
    index = KEY_HEADS * (4 * tokens * SELECTED + 2 * 4 * (tokens // SORTED + 1) * blocks)
    part += PARTS * 4 * (tokens // STRIDE - 1) * KEY_HEADS * 2 * SIZE
    rest = queries + 6 * 4 * rows + 2 * tokens * KEY_HEADS * 3 + 2 * compressed + 2 * keys
    # When dq is finished, whose sum is fp32: the gradients of the keys and values of the window, too.
    parts = PARTS * 4 * (tokens // STRIDE - 1) * KEY_HEADS * 2 * SIZE
    return forward, max(rest + 2 * keys + index + part, rest + 2 * queries + parts)


class TestMemory:

    def test_peak(self):
        for name, changes, most in zip(("forward", "backward"), run(65536), expected(65536)):
            print(f"{name} of 65,536 tokens: {peak(changes) / 2**20:.0f} MiB, {most / 2**20:.0f} by the shapes")
            assert peak(changes) < 1.01 * most, name
            assert peak(changes) > 0.98 * most, name

    def test_growth(self):
        """With twice the tokens an allocation has twice the bytes. The counts of the inverse index, of which there are two, have four times."""
        for name, short, long in zip(("forward", "backward"), run(32768), run(65536)):
            short, long = ([x for x in changes if x > 0] for changes in (short, long))
            assert len(short) == len(long), name
            square = [b for a, b in zip(short, long) if b > 2.1 * a]
            counts = 4 * KEY_HEADS * (65536 // SORTED + 1) * (65536 // SELECTION + 1)
            assert [abs(x - counts) < 64 for x in square] == [True] * (2 if name == "backward" else 0), (name, square)


def flags(address):
    """VmFlags of the mapping that holds an address: hg where huge pages were asked for."""
    inside = False
    for line in pathlib.Path("/proc/self/smaps").read_text().splitlines():
        first = line.split()[0]
        if "-" in first and not first.endswith(":"):
            begin, end = (int(x, 16) for x in first.split("-"))
            inside = begin <= address < end
        elif inside and first == "VmFlags:":
            return line.split()[1:]
    raise AssertionError("no mapping holds %#x" % address)


class TestHugePages:
    """A system without them (no transparent_hugepage folder) ignores the advice."""

    def asked(self, mebibytes):
        x = torch.empty(mebibytes * 256, 1024)
        internal.begin_listing(False)
        try:
            y = ops.rms_norm(x, torch.empty(1024), 1e-6)
        finally:
            internal.end_listing(False)
        y = y[0] if isinstance(y, (tuple, list)) else y
        return "hg" in flags(y.data_ptr() + y.nbytes // 2)

    def test_large_results_ask_for_them(self):
        assert self.asked(32) == pathlib.Path("/sys/kernel/mm/transparent_hugepage").is_dir()

    def test_small_ones_do_not(self):
        assert not self.asked(1)
