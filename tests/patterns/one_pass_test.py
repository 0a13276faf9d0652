# tests/patterns/one_pass_test.py - the backward pass of a pattern by one kernel, against fp64, for all patterns with derived kernels.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""The op takes one kernel on the CPU; the number of shares follows from key heads, sequences and processors (ops/Estimates.h). The cases choose
the number of sequences, most of them short or empty, for the number of shares that they need."""
import os

import pytest
import torch
from library_masks import CASES
from outliers import outlier_text
from repository import pattern_files

torch.ops.load_library(os.environ["LIBTESSERA_TORCH"])
ops = torch.ops.tessera
D, E = 16, 24
LEARNED = {"sink_window": "SINK", "alibi": "SLOPE"}


def lengths_for(shares, heads):
    """Sequences for which a key head of one of them is the work of so many programs."""
    sequences = -(-2 * len(os.sched_getaffinity(0)) // shares) // heads
    lengths = [171, 0, 33, 1, 64, 97][:max(1, sequences)]
    return lengths + [3] * (sequences - len(lengths))


def make(name, lengths, heads, group, dtype):
    generator = torch.Generator().manual_seed(3)
    tokens = sum(lengths)
    made = [torch.randn(s, generator=generator).to(dtype) for s in [(tokens, heads * group, D), (tokens, heads, D), (tokens, heads, E)]]
    if name in LEARNED:
        made.append(torch.rand(tokens, 1, heads * group, generator=generator) * 0.3)
    prefixes = torch.randint(0, 70, (1, len(lengths)), generator=generator, dtype=torch.int32)
    weights = torch.randn(tokens, heads * group, E, generator=generator).to(dtype)
    return made, prefixes, weights


def gradients(name, lengths, tensors, prefixes, weights, tiles=""):
    """By the op: of q, k, v and the learned number of each token and head."""
    mine = [x.clone().requires_grad_() for x in tensors]
    ends = torch.tensor([0, *lengths]).cumsum(0).to(torch.int32)
    o, _ = ops.custom_attention(*mine[:3], ends, max(lengths), f"kernels/patterns/{name}.py", name, name + "_bwd", CASES[name][0] + tiles, None,
                                mine[3] if name in LEARNED else None, LEARNED.get(name, ""),
                                *((prefixes, "PREFIX") if name == "prefix_lm" else ()))
    return torch.autograd.grad((o * weights).sum(), mine)


def expected(name, lengths, tensors, prefixes, weights):
    """The same by autograd of attention under a mask in fp64."""
    wide = [x.double().requires_grad_() for x in tensors]
    q, k, v = wide[:3]
    group, loss, start = q.shape[1] // k.shape[1], torch.zeros(()).double(), 0
    for length, prefix in zip(lengths, prefixes[0].tolist()):
        part, t = slice(start, start + length), torch.arange(length)
        start += length
        scores = torch.einsum("thd,shd->hts", q[part], k[part].repeat_interleave(group, 1)) / D ** 0.5
        if name == "softcap":
            scores = 2.5 * torch.tanh(scores / 2.5)
        if name == "alibi":
            scores = scores - wide[3][part, 0].T[:, :, None] * (t[:, None] - t)
        scores = scores.masked_fill(~CASES[name][1](t[:, None], t[None, :], prefix), float("-inf"))
        if name == "sink_window":
            scores = torch.cat([scores, wide[3][part, 0].T[:, :, None]], 2)
        o = torch.einsum("hts,she->the", scores.softmax(-1)[:, :, :length], v[part].repeat_interleave(group, 1))
        loss = loss + (o * weights[part].double()).sum()
    return torch.autograd.grad(loss, wide)


def compare(got, want, limit):
    for which, a, b in zip(["q", "k", "v", "learned"], got, want):
        assert not outlier_text(a, b, limit), which
        assert (a.double() - b).norm() <= limit * b.norm(), which


def kernels_of(action):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as seen:
        result = action()
    return result, {e.key for e in seen.key_averages() if e.key.startswith("kernel ")}


def test_every_pattern_with_derived_kernels_is_here():
    plain = [path.stem for path in pattern_files()]
    assert sorted(plain) == sorted(CASES)


# Shares, key heads, query heads of a key head, tiles; the first two also in bf16.
SHAPES = [(2, 1, 2, ", BM=16, BN=32, SPLIT=1"), (1, 1, 6, ", BM=32, BN=16, SPLIT=1"), (1, 2, 1, ""), (4, 1, 6, ""), (4, 1, 1, ", BM=32, BN=16, SPLIT=0")]
TYPED = [(*shape, torch.float32, 1e-5) for shape in SHAPES] + [(*shape, torch.bfloat16, 5e-3) for shape in SHAPES[:2]]


@pytest.mark.parametrize("shares, heads, group, tiles, dtype, limit", TYPED, ids=[f"{s[0]}-{s[1]}-{s[2]}-{str(s[4])[6:]}" for s in TYPED])
@pytest.mark.parametrize("name", CASES)
def test_gradients(name, shares, heads, group, tiles, dtype, limit):
    lengths = lengths_for(shares, heads)
    given = make(name, lengths, heads, group, dtype)
    got, names = kernels_of(lambda: gradients(name, lengths, *given, tiles))
    assert f"kernel {name}_bwd" in names and f"kernel {name}_bwd_dq" not in names, names
    compare(got, expected(name, lengths, *given), limit)


@pytest.mark.parametrize("shares", [1, 2, 4])
@pytest.mark.parametrize("name", ["dense", "alibi", "sink_window"])
def test_threads_change_no_bit(name, shares):
    lengths, threads = lengths_for(shares, 1), torch.get_num_threads()
    given = make(name, lengths, 1, 2, torch.float32)
    results = []
    for count in (1, 2, 3, 1):
        torch.set_num_threads(count)
        results.append(gradients(name, lengths, *given))
    torch.set_num_threads(threads)
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other))


def test_heads_of_two_slices_take_two_kernels():
    lengths = lengths_for(1, 1)
    ends = torch.tensor([0, *lengths]).cumsum(0).to(torch.int32)
    mine = [torch.randn(sum(lengths), 1, 48).requires_grad_() for _ in range(3)]
    run = lambda: ops.attention(*mine, ends, max(lengths), "kernels/patterns/window.py", "window=20")[0].sum().backward()
    _, names = kernels_of(run)
    assert {"kernel window_bwd_dq", "kernel window_bwd_dkdv"} <= names and "kernel window_bwd" not in names, names
