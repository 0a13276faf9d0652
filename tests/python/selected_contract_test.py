# tests/python/selected_contract_test.py - compares the ops of the selected branch with an fp64 reference for any list of blocks: forward, backward, decoding.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Entries come in any order, a block that is named twice counts once, negative numbers and blocks after the query name no keys.

CMake runs this file three times: the CPU's kernels on the CPU, the GPU's kernels compiled for the CPU (TESSERA_KERNELS_OF=gpu), and the
GPU's kernels on the simulator (TESSERA_DEVICE). With deterministic algorithms, torch.empty() fills memory with NaN or the largest integer.
An element that no kernel writes, or that is computed from memory that was not written, therefore differs from the reference.
"""
import os

import nsa_reference as ref
import torch
from outliers import close_enough

torch.ops.load_library(os.environ["LIBTESSERA_TORCH"])
torch.use_deterministic_algorithms(True)
ops = torch.ops.tessera

# Kernels of a GPU take long to compile, and the simulator to run.
ON_CPU = os.environ.get("TESSERA_DEVICE", "cpu") == "cpu" and os.environ.get("TESSERA_KERNELS_OF", "cpu") == "cpu"
# Block numbers that are not valid. For some of them, number * length or (number + 1) * length of a block overflows int32 and wraps to a
# position inside a valid block.
NO_BLOCKS = torch.tensor([-1, -2, -2**26, -2**31, -2**31 + 1, 2**26, 2**27, 2**28, 2**29, 2**30, 2**31 - 1], dtype=torch.int64)
HEADS, KEY_HEADS, SIZE, VALUE_SIZE = 4, 2, 16, 8


def random_lists(shape, blocks, generator):
    """int32 lists with repeated blocks, blocks after the query, -1 anywhere; some rows name no block of the sequence."""
    some = torch.randint(-1, blocks + 2, shape, generator=generator)
    none = NO_BLOCKS[torch.randint(len(NO_BLOCKS), shape, generator=generator)]
    other = torch.rand(shape, generator=generator) < 0.25
    empty = torch.rand((*shape[:-1], 1), generator=generator) < 0.1
    return torch.where(other | empty, none, some).int()


def leaves(tokens, generator):
    return [torch.randn(tokens, heads, size, generator=generator).requires_grad_()
            for heads, size in ((HEADS, SIZE), (KEY_HEADS, SIZE), (KEY_HEADS, VALUE_SIZE))]


def close(got, want, name):
    got, want = got.detach().double(), want.detach().double()
    assert torch.equal(torch.isfinite(got), torch.isfinite(want)), (name, "what is finite differs")
    assert close_enough(got, want, 1e-5) == "", name


def compare(p, block, indices, generator):
    x = leaves(p.tokens, generator)
    y = [t.detach().double().requires_grad_() for t in x]
    results = []
    for _ in range(2):                       # twice the same bits
        o, lse = ops.nsa_selected_attention(*x, indices, p.cu, p.longest, block)
        live = torch.isfinite(lse)
        weight = torch.linspace(-1, 1, o.numel()).view_as(o)
        grads = torch.autograd.grad((o * weight).sum() + lse[live].sum(), x)
        results.append((o, lse, *grads))
    for a, b in zip(*results):
        assert torch.equal(a, b)
    wo, wl = ref.attention(*y, ref.selected_mask(p, indices, block), SIZE ** -0.5)
    want = torch.autograd.grad((wo * weight.double()).sum() + wl[live].sum(), y)
    for name, a, b in zip(("o", "lse", "dq", "dk", "dv"), results[0], (wo, wl, *want)):
        close(a, b, (name, block, p.lengths))
    return o, lse, live


def test_any_list_gives_the_attention_of_its_set():
    generator = torch.Generator().manual_seed(1)
    for lengths, block, count in (([61], 8, 5), ([20, 0, 41], 16, 1), ([33, 7], 64, 3), ([50], 12, 7))[:4 if ON_CPU else 2]:
        p = ref.Packing(lengths)
        indices = random_lists((KEY_HEADS, p.tokens, count), -(-p.longest // block), generator)
        compare(p, block, indices, generator)


def test_repeated_and_unordered_blocks():
    """What two rows name is the same set of keys, so they are the same rows."""
    p = ref.Packing([64])
    names = ([0, 0, 3], [3, 0, -1], [-1, 3, 0], [3, 3, 0], [0, 5, 3])            # block 5 is after the query
    for name in names:
        indices = torch.full((KEY_HEADS, 64, 3), -1, dtype=torch.int32)
        indices[:, 63] = torch.tensor(name)
        o, _, live = compare(p, 16, indices, torch.Generator().manual_seed(2))
        assert not live[:, :63].any()
        assert not o[:63].any()       # rows without keys


def test_ranges_of_any_list():
    generator = torch.Generator().manual_seed(3)
    for count in (1, 2, 5, 8):
        p = ref.Packing([45, 20])
        indices = random_lists((KEY_HEADS, p.tokens, count), 6, generator)
        ranges = ops.nsa_ranges(indices, p.cu, p.longest, 8)
        covered = torch.zeros(KEY_HEADS, p.tokens, p.tokens, dtype=torch.bool)
        for h in range(KEY_HEADS):
            for t in range(p.tokens):
                start, end = int(p.cu[p.sequence[t]]), -1
                for first, last in ranges[h, t].tolist():
                    if last > 0:
                        assert end < first < last      # ascending and merged
                        end = last
                        covered[h, t, start + first:start + last] = True
                    else:
                        assert (first, last) == (0, 0)
                        end = p.tokens                            # unused slots come last
        assert torch.equal(covered, ref.selected_mask(p, indices, 8))


def test_decoding_takes_any_list():
    generator = torch.Generator().manual_seed(4)
    batch, capacity = 3, 700
    q = torch.randn(batch, HEADS, SIZE, generator=generator)
    k = torch.randn(batch, KEY_HEADS, capacity, SIZE, generator=generator)
    v = torch.randn(batch, KEY_HEADS, capacity, VALUE_SIZE, generator=generator)
    k[:, :, 650:], v[:, :, 650:] = float("nan"), float("nan")     # not written yet
    place = torch.arange(capacity)
    for last, block, count in ((650, 64, 9), (610, 16, 20), (1, 64, 2), (641, 96, 5))[:4 if ON_CPU else 2]:
        indices = random_lists((batch, KEY_HEADS, count), -(-last // block), generator)
        seen = (place // block == indices[..., None]).any(2) & (place < last)    # [B, Hkv, capacity]
        wide = lambda x: x.double().nan_to_num().repeat_interleave(HEADS // KEY_HEADS, 1)
        s = torch.einsum("bhd,bhtd->bht", q.double(), wide(k)) / 4
        s = s.masked_fill(~seen.repeat_interleave(HEADS // KEY_HEADS, 1), float("-inf"))
        want = torch.einsum("bht,bhtd->bhd", s.softmax(2).nan_to_num(), wide(v))
        for splits in (0, 1, 3):
            o, lse = ops.decode_attention(q, k, v, 0, last, indices, block, splits)
            close(o, want, ("decode", last, block, splits))
            close(lse, s.logsumexp(2), ("decode lse", last, block, splits))


def test_gradients_without_selection():
    """No selected blocks in the attention of all branches: the gradients of compressed keys, partial sums on a GPU, are still added up."""
    length = 600                             # three parts
    p = ref.Packing([length])
    cu_cmp = ops.compressed_offsets(p.cu, 32, 16)
    rows = int(cu_cmp[-1])
    for selected in (0, 4):
        generator = torch.Generator().manual_seed(5)
        shapes = [(length, HEADS, SIZE)] + [(n, KEY_HEADS, d) for n in (rows, length, length) for d in (SIZE, VALUE_SIZE)]
        x = [torch.randn(s, generator=generator).requires_grad_() for s in (*shapes, (length, KEY_HEADS, 3))]
        y = [t.detach().double().requires_grad_() for t in x]
        out, indices, _ = ops.nsa_gated_attention(*x, p.cu, cu_cmp, length, 32, 16, 32, selected, 40)
        weight = torch.randn(out.shape, generator=generator)
        got = torch.autograd.grad((out * weight).sum(), x)
        masks = (ref.compressed_mask(p, 32, 16), ref.selected_mask(p, indices, 32), ref.window_mask(p, 40))
        branches = [ref.attention(y[0], y[i], y[i + 1], mask, SIZE ** -0.5)[0] for i, mask in zip((1, 3, 5), masks)]
        want_out = ref.combine(branches, y[7], "softmax", 1.0)
        want = torch.autograd.grad((want_out * weight.double()).sum(), y, allow_unused=True)
        close(out, want_out, ("out", selected))
        for name, a, b, leaf in zip(("q", "k_cmp", "v_cmp", "k_sel", "v_sel", "k_win", "v_win", "gate_logits"), got, want, y):
            close(a, torch.zeros_like(leaf) if b is None else b, (name, selected))
