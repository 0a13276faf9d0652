# tests/python/ordered_backward_test.py - the backward pass of attention in one kernel of a GPU, against fp64, and bit for bit in every schedule.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""kernels/attention/backward_ordered.py. TESSERA_BACKWARD_PRODUCTS=5 chooses it for the small sizes here."""
import os
import sys

import pytest
import torch
from torch.profiler import ProfilerActivity, profile
from outliers import close_enough

torch.ops.load_library(os.environ["LIBTESSERA_TORCH"])
ops = torch.ops.tessera
LENGTH, STRIDE, WINDOW = 8, 4, 40
LIMITS = {torch.bfloat16: 1e-2, torch.float16: 2e-3}


def compressed_starts(lengths):
    counts = [max(0, (n - LENGTH) // STRIDE + 1) for n in lengths]
    return counts, torch.tensor([0, *counts]).cumsum(0).to(torch.int32)


def visible(branch, length, keys):
    """Whether the query at row t attends to the key of column s."""
    t, s = torch.arange(length)[:, None], torch.arange(keys)[None]
    if branch == "compressed":
        return s * STRIDE + LENGTH - 1 <= t
    return (s <= t) & (s > t - WINDOW) if branch == "window" else s <= t


def inputs(branch, lengths, heads, group, width, dtype):
    generator = torch.Generator().manual_seed(5)
    tokens = sum(lengths)
    rows = sum(compressed_starts(lengths)[0]) if branch == "compressed" else tokens
    shapes = (tokens, heads * group, width), (rows, heads, width), (rows, heads, width)
    return [torch.randn(s, generator=generator).to(dtype) for s in shapes], torch.randn(tokens, heads * group, width, generator=generator).to(dtype)


def run(branch, lengths, tensors, weights):
    mine = [x.clone().requires_grad_() for x in tensors]
    ends = torch.tensor([0, *lengths]).cumsum(0).to(torch.int32)
    if branch == "dense":
        o, _ = ops.dense_attention(*mine, ends, max(lengths), None)
    elif branch == "window":
        o, _ = ops.nsa_window_attention(*mine, ends, max(lengths), WINDOW, None)
    else:
        o, _ = ops.nsa_compressed_attention(*mine, ends, compressed_starts(lengths)[1], max(lengths), LENGTH, STRIDE, None)
    return torch.autograd.grad((o * weights).sum(), mine)


def expected(branch, lengths, tensors, weights):
    """By autograd of attention under a mask in fp64."""
    wide = [x.double().requires_grad_() for x in tensors]
    q, k, v = wide
    group, loss, start, first = q.shape[1] // k.shape[1], torch.zeros(()).double(), 0, 0
    counts = compressed_starts(lengths)[0] if branch == "compressed" else lengths
    for length, count in zip(lengths, counts):
        part, keys = slice(start, start + length), slice(first, first + count)
        start, first = start + length, first + count
        scores = torch.einsum("thd,shd->hts", q[part], k[keys].repeat_interleave(group, 1)) / q.shape[2] ** 0.5
        mask = visible(branch, length, count)
        p = torch.softmax(scores.masked_fill(~mask, -1e30), -1) * mask
        loss = loss + (torch.einsum("hts,she->the", p, v[keys].repeat_interleave(group, 1)) * weights[part].double()).sum()
    return torch.autograd.grad(loss, wide)


@pytest.fixture(autouse=True)
def five_products(monkeypatch):
    if os.environ["TESSERA_DEVICE"] == "cpu":
        pytest.fail("the kernel is one of a GPU: TESSERA_DEVICE=sim:sm_80")
    monkeypatch.setenv("TESSERA_BACKWARD_PRODUCTS", "5")


CASES = [("dense", (300, 0, 1, 130), 2, 4, 64), ("dense", (65, 257), 1, 16, 128), ("dense", (190,), 2, 3, 32), ("dense", (150, 128, 129), 1, 1, 16),
         ("window", (300, 0, 1, 130), 2, 4, 64), ("window", (65, 257), 1, 16, 128), ("window", (190,), 2, 3, 32),
         ("compressed", (600, 0, 1, 7, 8, 130), 2, 4, 64), ("compressed", (65, 900), 1, 16, 128), ("compressed", (1100,), 1, 3, 32)]


@pytest.mark.parametrize("case, dtype", [(case, torch.bfloat16) for case in CASES] + [(case, torch.float16) for case in CASES[1::3]],
                         ids=lambda x: f"{x[0]}-{x[3]}-{x[4]}" if isinstance(x, tuple) else str(x))
def test_gradients_are_those_of_fp64(case, dtype):
    branch, lengths, heads, group, width = case
    tensors, weights = inputs(branch, lengths, heads, group, width, dtype)
    for name, got, want in zip(("dq", "dk", "dv"), run(branch, lengths, tensors, weights), expected(branch, lengths, tensors, weights)):
        fault = close_enough(got, want, LIMITS[dtype])
        assert not fault, f"{name}: {fault}"


@pytest.mark.parametrize("group, length", [(16, 300), (16, 2350), (12, 129), (2, 300)])
def test_queries_after_the_last_compressed_key(monkeypatch, group, length):
    """All keys of a tile that is not full are visible to them; they must not attend to what the tile repeats."""
    monkeypatch.setattr(sys.modules[__name__], "LENGTH", 32)
    monkeypatch.setattr(sys.modules[__name__], "STRIDE", 16)
    test_gradients_are_those_of_fp64(("compressed", (length,), 1, group, 32), torch.bfloat16)


def launched(body):
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        body()
    return [e.name.removeprefix("kernel ") for e in seen.events() if e.name.startswith("kernel ")]


@pytest.mark.parametrize("branch, kernel", [("dense", "dense_bwd_ordered"), ("window", "window_bwd_ordered"), ("compressed", "cmp_bwd_ordered")])
def test_the_variable_chooses_the_kernels(monkeypatch, branch, kernel):
    case = branch, (64,), *inputs(branch, (64,), 1, 4, 32, torch.bfloat16)
    assert kernel in launched(lambda: run(*case))
    monkeypatch.setenv("TESSERA_BACKWARD_PRODUCTS", "7")
    assert kernel not in launched(lambda: run(*case))
    monkeypatch.delenv("TESSERA_BACKWARD_PRODUCTS")
    assert kernel not in launched(lambda: run(*case)), "there are too few programs for a GPU"
    wide = branch, (64,), *inputs(branch, (64,), 1, 4, 32, torch.float32)
    monkeypatch.setenv("TESSERA_BACKWARD_PRODUCTS", "5")
    assert kernel not in launched(lambda: run(*wide)), "fp32"


def test_other_values_of_the_variable_are_refused(monkeypatch):
    monkeypatch.setenv("TESSERA_BACKWARD_PRODUCTS", "6")
    with pytest.raises(Exception, match="TESSERA_BACKWARD_PRODUCTS=6 is not a form of the backward pass"):
        run("dense", (64,), *inputs("dense", (64,), 1, 4, 32, torch.bfloat16))


@pytest.mark.parametrize("resident", [1, 2, 8, 108, 132])
@pytest.mark.parametrize("branch, lengths", [("window", (400, 150)), ("compressed", (1500, 300)), ("dense", (500, 140))], ids=["window", "compressed", "dense"])
def test_gradients_are_the_same_bits_in_every_schedule(monkeypatch, branch, lengths, resident):
    tensors, weights = inputs(branch, lengths, 2, 2, 16, torch.bfloat16)
    want = run(branch, lengths, tensors, weights)
    monkeypatch.setenv("TESSERA_SIM_RESIDENT", str(resident))
    for seed in range(20 if resident == 8 and branch == "window" else 1 if resident != 8 else 4):
        monkeypatch.setenv("TESSERA_SIM_SEED", str(seed))
        for name, got, one in zip(("dq", "dk", "dv"), run(branch, lengths, tensors, weights), want):
            assert torch.equal(got, one), f"{name}, schedule {seed}"


@pytest.mark.parametrize("group, width, longest", [(4, 64, 700), (16, 128, 330), (3, 32, 700)])
def test_all_branches_together(monkeypatch, group, width, longest):
    """The gradients of nsa_attention by five products are those by seven, which other tests compare with fp64."""
    lengths, heads = (longest, 0, 33, 200), 2
    counts, starts = compressed_starts(lengths)
    generator = torch.Generator().manual_seed(6)
    tokens = sum(lengths)
    make = lambda *shape: torch.randn(shape, generator=generator).to(torch.bfloat16)
    tensors = [make(tokens, heads * group, width), *(make(tokens, heads, width) for _ in range(6)), make(tokens, heads, 3)]
    weights = make(tokens, heads * group, width)

    def gradients(products):
        monkeypatch.setenv("TESSERA_BACKWARD_PRODUCTS", products)
        mine = [x.clone().requires_grad_() for x in tensors]
        out, _, _ = ops.nsa_attention(*mine, torch.tensor([0, *lengths]).cumsum(0).to(torch.int32), starts, max(lengths), sum(counts), LENGTH, STRIDE, 16, 6,
                                      WINDOW)
        return torch.autograd.grad((out * weights).sum(), mine)

    for number, (five, seven) in enumerate(zip(gradients("5"), gradients("7"))):
        fault = close_enough(five, seven, LIMITS[torch.bfloat16])
        assert not fault, f"argument {number}: {fault}"
