# tests/replay/recipes_rows.py - launches to record: elementwise, rows, reductions, scans.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Each recipe_NAME(record) launches one kernel on data of its own; record_from_triton.py calls it."""
import math

import torch
import triton
import triton.language as tl

from record_from_triton import check

LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def add_masked(X, Y, OUT, n, BLOCK: tl.constexpr):
    at = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(X + at, mask=inside)
    y = tl.load(Y + at, mask=inside, other=0.0)
    tl.store(OUT + at, x + y, mask=inside)


def recipe_vector_add(record):
    x, y = torch.randn(1000), torch.randn(1000)
    x[3], y[3], x[5], y[7], x[9] = -0.0, -0.0, float("inf"), float("nan"), 1e-41
    record(add_masked, (4,), x, y, torch.zeros(1000), 1000, BLOCK=256)


@triton.jit
def softmax_rows(OUT, IN, stride_out, stride_in, rows, cols, BLOCK: tl.constexpr):
    """A row per step; each program takes every num_programs-th row."""
    first = tl.program_id(0)
    step = tl.num_programs(0)
    for row in tl.range(first, rows, step, num_stages=2):
        c = tl.arange(0, BLOCK)
        x = tl.load(IN + row * stride_in + c, mask=c < cols, other=-float("inf"))
        e = tl.exp(x - tl.max(x, axis=0))
        tl.store(OUT + row * stride_out + c, e / tl.sum(e, axis=0), mask=c < cols)


def recipe_softmax(record):
    wide = torch.randn(37, 100) * 3
    x = wide[:, :77]                          # rows with a gap after them
    out = torch.full((37, 77), float("nan"))
    record(softmax_rows, (8,), out, x, out.stride(0), x.stride(0), 37, 77, BLOCK=128, num_warps=8)


@triton.jit
def layer_norm(X, Y, W, B, MEAN, RSTD, stride, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    X += row * stride
    Y += row * stride
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, cols, BLOCK):
        c = start + tl.arange(0, BLOCK)
        total += tl.load(X + c, mask=c < cols, other=0.).to(tl.float32)
    mean = tl.sum(total, axis=0) / cols
    spread = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, cols, BLOCK):
        c = start + tl.arange(0, BLOCK)
        x = tl.load(X + c, mask=c < cols, other=0.).to(tl.float32)
        x = tl.where(c < cols, x - mean, 0.)
        spread += x * x
    rstd = 1 / tl.sqrt(tl.sum(spread, axis=0) / cols + eps)
    tl.store(MEAN + row, mean)
    tl.store(RSTD + row, rstd)
    for start in range(0, cols, BLOCK):
        c = start + tl.arange(0, BLOCK)
        inside = c < cols
        x = tl.load(X + c, mask=inside, other=0.).to(tl.float32)
        y = (x - mean) * rstd
        if W is not None:
            y = y * tl.load(W + c, mask=inside).to(tl.float32)
        if B is not None:
            y += tl.load(B + c, mask=inside).to(tl.float32)
        tl.store(Y + c, y.to(Y.dtype.element_ty), mask=inside)


def recipe_layer_norm_fwd(record):
    x = torch.randn(24, 200).bfloat16() * 2 + 0.5
    y = torch.zeros_like(x)
    w = torch.randn(200).bfloat16()
    record(layer_norm, (24,), x, y, w, None, torch.zeros(24), torch.zeros(24), x.stride(0), 200, 1e-5, BLOCK=64)
    want = torch.nn.functional.layer_norm(x.float(), (200,), w.float(), None, 1e-5)
    check("y", y.float(), want, 0.05)


@triton.jit
def layer_norm_back(DX, DY, X, W, DW, DB, MEAN, RSTD, COUNT, stride, cols, BLOCK: tl.constexpr):
    """dx of a row; its part of dw and db is added to them by atomics."""
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    inside = c < cols
    x = tl.load(X + row * stride + c, mask=inside, other=0)
    dy = tl.load(DY + row * stride + c, mask=inside, other=0)
    w = tl.load(W + c, mask=inside)
    mean, rstd = tl.load(MEAN + row), tl.load(RSTD + row)
    normal = tl.where(inside, (x - mean) * rstd, 0.)
    wdy = tl.where(inside, w * dy, 0.)
    c1 = tl.sum(normal * wdy, axis=0) / cols
    c2 = tl.sum(wdy, axis=0) / cols
    tl.store(DX + row * stride + c, (wdy - (normal * c1 + c2)) * rstd, mask=inside)
    tl.atomic_add(DW + c, dy * normal, mask=inside)
    tl.atomic_add(DB + c, dy, mask=inside, sem="relaxed")
    tl.atomic_add(COUNT, 1)


def recipe_layer_norm_bwd(record):
    rows, cols = 40, 96
    x, dy, w = torch.randn(rows, cols), torch.randn(rows, cols), torch.randn(cols)
    mean, rstd = x.mean(1), 1 / torch.sqrt(x.var(1, unbiased=False) + 1e-5)
    record(layer_norm_back, (rows,), torch.zeros(rows, cols), dy, x, w, torch.zeros(cols), torch.zeros(cols), mean,
           rstd, torch.zeros(1, dtype=torch.int32), cols, cols, BLOCK=128)


@triton.jit
def keep_positive(IN, OUT, COUNT, n, BLOCK: tl.constexpr):
    """Each program takes a place for every value it keeps: their order is that of the programs."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(IN + at, mask=at < n, other=-1)
    kept = x > 0
    place = tl.cumsum(kept.to(tl.int32), 0) - 1
    base = tl.atomic_add(COUNT, tl.sum(kept.to(tl.int32), 0))
    tl.store(OUT + base + place, x, mask=kept)


def recipe_compaction_unordered(record):
    x = torch.randint(-50, 50, (500,), dtype=torch.int32)
    record(keep_positive, (16,), x, torch.zeros(500, dtype=torch.int32), torch.zeros(1, dtype=torch.int32), 500,
           BLOCK=32, compare={"OUT": "unordered"})


@triton.jit
def cross_entropy(LOGITS, LABELS, LOSS, GRAD, stride, classes, ignored, smoothing, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    label = tl.load(LABELS + row)
    LOGITS += row * stride
    GRAD += row * classes
    if label == ignored:
        for start in range(0, classes, BLOCK):
            c = start + tl.arange(0, BLOCK)
            tl.store(GRAD + c, 0.0, mask=c < classes)
        tl.store(LOSS + row, 0.0)
        return
    peak = float("-inf")
    total = 0.0
    for start in range(0, classes, BLOCK):
        c = start + tl.arange(0, BLOCK)
        x = tl.load(LOGITS + c, mask=c < classes, other=float("-inf"))
        new = tl.maximum(peak, tl.max(x))
        total = total * tl.exp(peak - new) + tl.sum(tl.exp(x - new))
        peak = new
    lse = peak + tl.log(total)
    picked = tl.load(LOGITS + label)
    tl.store(LOSS + row, lse - (1 - smoothing) * picked)
    for start in range(0, classes, BLOCK):
        c = start + tl.arange(0, BLOCK)
        x = tl.load(LOGITS + c, mask=c < classes, other=float("-inf"))
        p = tl.exp(x - lse)
        p = tl.where(c == label, p - (1 - smoothing), p)
        tl.store(GRAD + c, p, mask=c < classes)


def recipe_cross_entropy(record):
    logits = torch.randn(20, 300) * 2
    labels = torch.randint(0, 300, (20,))
    labels[4] = labels[11] = -100
    record(cross_entropy, (20,), logits, labels, torch.full((20,), 7.0), torch.full((20, 300), 7.0), 300, 300, -100,
           0.1, BLOCK=128)


@triton.jit
def count_bins(IN, BINS, n, low, width, BINS_COUNT: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(IN + at, mask=at < n, other=0.0)
    bin = ((x - low) / width).to(tl.int32)
    bin = tl.minimum(tl.maximum(bin, 0), BINS_COUNT - 1)
    tl.atomic_add(BINS + bin, 1, mask=at < n)


def recipe_histogram_atomic(record):
    record(count_bins, (4, 1, 1), torch.randn(900, dtype=torch.float16).float(), torch.zeros(32, dtype=torch.int32), 900,
           -4.0, 0.25, BINS_COUNT=32, BLOCK=256)


@triton.jit
def combine(a1, b1, a2, b2):
    return a1 * a2, a2 * b1 + b2


@triton.jit
def recurrence(A, B, H, SUMS, steps, channels, stride, BT: tl.constexpr, BC: tl.constexpr):
    """h[t] = a[t] h[t-1] + b[t] by an associative scan over blocks of time."""
    c = tl.program_id(0) * BC + tl.arange(0, BC)
    t = tl.arange(0, BT)
    carry = tl.zeros((1, BC), tl.float32)
    for start in range(0, steps, BT):
        at = (start + t)[:, None] * stride + c[None, :]
        inside = ((start + t) < steps)[:, None] & (c < channels)[None, :]
        a = tl.load(A + at, mask=inside, other=1.0)
        b = tl.load(B + at, mask=inside, other=0.0)
        pa, h = tl.associative_scan((a, b), 0, combine)
        h = h + pa * carry
        tl.store(H + at, h, mask=inside)
        tl.store(SUMS + at, tl.cumsum(b, axis=0), mask=inside)
        carry = tl.sum(tl.where(t[:, None] == BT - 1, h, 0.0), axis=0)[None, :]


def recipe_associative_scan(record):
    a, b = torch.rand(50, 24), torch.randn(50, 24)
    record(recurrence, (3,), a, b, torch.zeros(50, 24), torch.zeros(50, 24), 50, 24, 24, BT=16, BC=8)


@triton.jit
def merge_moments(mean1, spread1, count1, mean2, spread2, count2):
    count = count1 + count2
    share = tl.where(count == 0, 0.0, count2 / count)
    apart = mean2 - mean1
    return mean1 + apart * share, spread1 + spread2 + apart * apart * count1 * share, count


@triton.jit
def moments(X, MEAN, VARIANCE, cols, BLOCK: tl.constexpr):
    """Mean and variance in one pass, by a reduction with a helper of three values."""
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(X + row * cols + c, mask=c < cols, other=0.0)
    count = tl.where(c < cols, 1.0, 0.0)
    mean, spread, count = tl.reduce((x, tl.zeros_like(x), count), 0, merge_moments)
    tl.store(MEAN + row, mean)
    tl.store(VARIANCE + row, spread / count)


def recipe_reduce_moments(record):
    record(moments, (5,), torch.randn(5, 50) + 3, torch.zeros(5), torch.zeros(5), 50, BLOCK=64)


@triton.jit
def locked_sum(LOCK, SUM, X, BLOCK: tl.constexpr):
    """Programs add rows to one sum, each while it holds the lock."""
    row = tl.program_id(0)
    while tl.atomic_cas(LOCK, 0, 1) == 1:
        pass
    c = tl.arange(0, BLOCK)
    tl.store(SUM + c, tl.load(SUM + c) + tl.load(X + row * BLOCK + c))
    tl.debug_barrier()
    tl.atomic_xchg(LOCK, 0)


def recipe_while_lock(record):
    record(locked_sum, (6,), torch.zeros(1, dtype=torch.int32), torch.zeros(32), torch.randn(6, 32), BLOCK=32)


@triton.jit
def sort_rows(X, Y, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(Y + at, tl.sort(tl.load(X + at)))


def recipe_sort(record):
    record(sort_rows, (3,), torch.randn(3, 32), torch.zeros(3, 32), N=32)


@triton.jit
def seeded_dropout(X, OUT, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + at, mask=at < n)
    tl.store(OUT + at, tl.where(tl.rand(seed, at) > p, x / (1 - p), 0.0), mask=at < n)


def recipe_random_seed(record):
    record(seeded_dropout, (2,), torch.randn(50), torch.zeros(50), 50, 0.5, 123, BLOCK=32)


@triton.jit
def top_k(SCORES, INDEX, VALUE, cols, K: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    s = tl.load(SCORES + row * cols + c, mask=c < cols, other=float("-inf"))
    for k in tl.static_range(K):
        best = tl.argmax(s, axis=0)
        tl.store(INDEX + row * K + k, best)
        tl.store(VALUE + row * K + k, tl.max(s, axis=0))
        s = tl.where(c == best, float("-inf"), s)


def recipe_top_k_ties(record):
    scores = torch.randn(16, 50)
    scores[3, 10] = scores[3, 20] = 5.0
    record(top_k, (16,), scores, torch.zeros(16, 4, dtype=torch.int32), torch.zeros(16, 4), 50, K=4, BLOCK=64,
           compare={"INDEX": {"mode": "ties", "scores": "SCORES"}})


@triton.jit
def dropout(X, OUT, KEEP, RANDOM, n, p, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + at, mask=at < n)
    keep = tl.load(RANDOM + at, mask=at < n) > p
    tl.store(OUT + at, tl.where(keep, x / (1 - p), 0.0), mask=at < n)
    tl.store(KEEP + at, keep, mask=at < n)


def recipe_dropout(record):
    record(dropout, (3,), torch.randn(300).half(), torch.zeros(300).half(), torch.zeros(300, dtype=torch.bool),
           torch.rand(300), 300, 0.25, BLOCK=128)


@triton.jit
def gelu(x):
    return 0.5 * x * (1 + tl.erf(x * 0.7071067811865476))


@triton.jit
def reduce_fp64(X, OUT, rows, cols, BR: tl.constexpr, BC: tl.constexpr):
    r = tl.program_id(0) * BR + tl.arange(0, BR)
    total = tl.zeros((BR,), tl.float64)
    for start in range(0, cols, BC):
        c = start + tl.arange(0, BC)
        x = tl.load(X + r[:, None] * cols + c[None, :], mask=(r < rows)[:, None] & (c < cols)[None, :], other=0.0)
        total += tl.sum(x * x, axis=1)
    tl.store(OUT + r, tl.sqrt(total), mask=r < rows)


def recipe_norm_fp64(record):
    record(reduce_fp64, (2,), torch.randn(20, 70, dtype=torch.float64), torch.zeros(20, dtype=torch.float64), 20, 70,
           BR=16, BC=32)


@triton.jit
def gelu_or_exp(X, OUT, n, KIND: tl.constexpr, DTYPE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + at, mask=at < n).to(tl.float32)
    if KIND == "gelu":
        y = gelu(x)
    else:
        y = tl.exp2(x * LOG2E)
    tl.store(OUT + at, y.to(DTYPE), mask=at < n)


def recipe_gelu_dtype_constexpr(record):
    record(gelu_or_exp, (2,), torch.randn(200) * 2, torch.zeros(200).half(), 200, KIND="gelu", DTYPE=tl.float16,
           BLOCK=128)


def recipe_exp_bf16_constexpr(record):
    record(gelu_or_exp, (2,), torch.randn(200), torch.zeros(200).bfloat16(), 200, KIND="exp", DTYPE=tl.bfloat16,
           BLOCK=128)


assert math.isclose(LOG2E.value, 1 / math.log(2))
