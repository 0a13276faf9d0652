# tests/triton/language/patterns.py - the shapes that published kernels have, small: grouped tiles, locks, online softmax, scans.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import math

import torch
import triton
import triton.language as tl

BIAS = torch.finfo(torch.float16).eps * 64
NEGATIVE = tl.constexpr(float("-inf"))


@triton.jit
def leaky(x):
    return tl.where(x >= 0, x, 0.01 * x)


@triton.jit
def silu(x):
    return x * tl.sigmoid(x)


@triton.jit
def tile_of(index, rows, cols, GROUP: tl.constexpr):
    per_group = GROUP * cols
    first = index // per_group * GROUP
    size = min(rows - first, GROUP)
    return first + index % per_group % size, index % per_group // size


@triton.jit
def softmax_step(peak, total, s):
    new = tl.maximum(peak, tl.max(s, 1))
    p = tl.exp(s - new[:, None])
    shrink = tl.exp(peak - new)
    return new, total * shrink + tl.sum(p, 1), p, shrink


@triton.jit
def mix(a1, b1, a2, b2):
    return a1 * a2, a2 * b1 + b2


@triton.jit
def welford(m1, s1, n1, m2, s2, n2):
    n = n1 + n2
    delta = m2 - m1
    share = tl.where(n == 0.0, 0.0, n2 / n)
    return m1 + delta * share, s1 + s2 + delta * delta * n1 * share, n


@triton.jit
def later(a, b):
    return b


@triton.jit
def branchy(a, b):
    c = a
    if b > a:
        c = b
    return c


@triton.jit
def ex_grouped_matmul(X, Y, I, OUT, IOUT, n, N: tl.constexpr, ACTIVATION: tl.constexpr = "leaky", BM: tl.constexpr = 8, BK: tl.constexpr = 8):
    """a persistent matmul of 20 x 24 x 32 with grouped tiles and an activation chosen by name"""
    rows, cols = tl.cdiv(20, BM), tl.cdiv(24, BM)
    for index in range(tl.program_id(0), rows * cols, tl.num_programs(0)):
        pm, pn = tile_of(index, rows, cols, 2)
        rm = (pm * BM + tl.arange(0, BM)) % 20
        rn = (pn * BM + tl.arange(0, BM)) % 24
        rk = tl.arange(0, BK)
        ap = X + rm[:, None] * 32 + rk[None, :]
        bp = Y + rk[:, None] * 24 + rn[None, :]
        acc = tl.zeros((BM, BM), dtype=tl.float32)
        for k in range(0, tl.cdiv(32, BK)):
            a = tl.load(ap, mask=rk[None, :] < 32 - k * BK, other=0.0)
            b = tl.load(bp, mask=rk[:, None] < 32 - k * BK, other=0.0)
            acc = tl.dot(a, b, acc, input_precision="ieee")
            ap += BK
            bp += BK * 24
        if ACTIVATION == "leaky":
            acc = leaky(acc)
        elif ACTIVATION == "silu":
            acc = silu(acc)
        om = pm * BM + tl.arange(0, BM)
        on = pn * BM + tl.arange(0, BM)
        tl.store(OUT + 24 * om[:, None] + on[None, :], acc, mask=(om[:, None] < 20) & (on[None, :] < 24))


@triton.jit
def ex_split_k_lock(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """partial sums of all programs under a spin lock, the first one writes, the others add"""
    r = tl.arange(0, N)
    part = tl.load(X + tl.program_id(0) * N + r)
    while tl.atomic_cas(IOUT, 0, 1) == 1:
        pass
    seen = tl.load(IOUT + 1)
    if seen == 0:
        tl.atomic_xchg(IOUT + 1, 1)
    else:
        part += tl.load(OUT + r)
    tl.store(OUT + r, part)
    tl.debug_barrier()
    tl.atomic_xchg(IOUT, 0)


@triton.jit
def ex_attention_block_pointers(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """causal attention of 32 tokens, head size 16, with block pointers and a carried tuple of state"""
    BM: tl.constexpr = 16
    pid = tl.program_id(0)
    q_block = tl.make_block_ptr(X, (32, 16), (16, 1), (pid * BM, 0), (BM, 16), (1, 0))
    k_block = tl.make_block_ptr(Y, (16, 32), (1, 16), (0, 0), (16, 8), (0, 1))
    v_block = tl.make_block_ptr(Y + 512, (32, 16), (16, 1), (0, 0), (8, 16), (1, 0))
    q = tl.load(q_block) * 0.25
    peak = tl.full((BM,), NEGATIVE, tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, 16), tl.float32)
    rows = pid * BM + tl.arange(0, BM)
    for start in range(0, (pid + 1) * BM, 8):
        start = tl.multiple_of(start, 8)
        k = tl.load(k_block, boundary_check=(1,), padding_option="zero")
        s = tl.dot(q, k, input_precision="ieee")
        s = tl.where(rows[:, None] >= start + tl.arange(0, 8)[None, :], s, NEGATIVE)
        peak, total, p, shrink = softmax_step(peak, total, s)
        v = tl.load(v_block, boundary_check=(0,))
        acc = acc * shrink[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        k_block = tl.advance(k_block, (0, 8))
        v_block = tl.advance(v_block, (8, 0))
    o_block = tl.make_block_ptr(OUT, (32, 16), (16, 1), (pid * BM, 0), (BM, 16), (1, 0))
    tl.store(o_block, (acc / total[:, None]).to(o_block.dtype.element_ty), boundary_check=(0, 1))
    tl.store(OUT + 1024 + rows, peak + tl.math.log(total))


@triton.jit
def ex_layer_norm_backward(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """mean and variance of a row, then both gradients, with atomics for the weights"""
    row = tl.program_id(0)
    cols = tl.arange(0, N)
    mask = cols < n
    x = tl.load(X + row * n + cols, mask=mask, other=0).to(tl.float32)
    dy = tl.load(Y + row * n + cols, mask=mask, other=0).to(tl.float32)
    mean = tl.sum(x, axis=0) / n
    centred = tl.where(mask, x - mean, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / n + 1e-5)
    xhat = centred * rstd
    c1 = tl.sum(xhat * dy, axis=0) / n
    c2 = tl.sum(dy, axis=0) / n
    tl.store(OUT + row * n + cols, (dy - (xhat * c1 + c2)) * rstd, mask=mask)
    tl.atomic_add(OUT + 1024 + cols, dy * xhat, mask=mask)


@triton.jit
def ex_cross_entropy_online(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """loss and gradient over 500 classes in blocks, with an ignored label"""
    row = tl.program_id(0).to(tl.int64)
    X += row * 500
    label = tl.load(I + row)
    if label == 123:
        tl.store(OUT + row, 0.0)
        return
    peak = float("-inf")
    total = 0.0
    target = tl.load(X + label % 500).cast(tl.float32)
    for i in range(0, 500, N):
        offsets = i + tl.arange(0, N)
        block = tl.load(X + offsets, mask=offsets < 500, other=float("-inf"))
        new = tl.maximum(peak, tl.max(block))
        total = total * tl.exp(peak - new) + tl.sum(tl.exp(block - new))
        peak = new
    for i in range(0, 500, N):
        offsets = i + tl.arange(0, N)
        block = tl.load(X + offsets, mask=offsets < 500, other=float("-inf"))
        grad = tl.exp(block - peak) / total
        grad = tl.where(offsets != label % 500, grad, grad - 1.0)
        tl.store(OUT + 8 + row * 500 + offsets, grad, mask=offsets < 500)
    tl.store(OUT + row, peak + tl.log(total) - target)


@triton.jit
def ex_selective_scan(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """h = a h + b along time, forwards and backwards, over two axes"""
    t, d = tl.arange(0, 32), tl.arange(0, 8)
    p = t[:, None] * 8 + d[None, :]
    a, b = tl.sigmoid(tl.load(X + p)), tl.load(Y + p)
    _, h = tl.associative_scan((a, b), axis=0, combine_fn=mix)
    tl.store(OUT + p, h)
    _, h = tl.associative_scan((a, b), 1, mix, reverse=True)
    tl.store(OUT + 256 + p, h)
    _, h = tl.associative_scan((tl.trans(a), tl.trans(b)), 1, mix)
    tl.store(OUT + 512 + d[:, None] * 32 + t[None, :], h)


@triton.jit
def ex_welford(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """mean and variance of rows by one reduction over three blocks"""
    r, c = tl.arange(0, 8), tl.arange(0, 32)
    x = tl.load(X + r[:, None] * 32 + c[None, :])
    mean, m2, weight = tl.reduce((x, tl.zeros_like(x), tl.full(x.shape, 1.0, tl.float32)), 1, welford)
    tl.store(OUT + r, mean)
    tl.store(OUT + 8 + r, m2 / weight)
    tl.store(OUT + 16, tl.reduce(x, None, branchy))


@triton.jit
def ex_combine_with_control(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """helpers of combinations with branches, or that take one side only; keep_dims; integers"""
    r, c = tl.arange(0, 8), tl.arange(0, 16)
    x = tl.load(X + r[:, None] * 16 + c[None, :])
    i = tl.load(I + r[:, None] * 16 + c[None, :])
    tl.store(OUT + r, tl.reduce(x, 1, branchy))
    tl.store(OUT + 8 + c, tl.reduce(x, 0, later))
    tl.store(OUT + 64 + r[:, None] * 16 + c[None, :], x - tl.reduce(x, 1, branchy, keep_dims=True))
    tl.store(IOUT + r[:, None] * 16 + c[None, :], tl.associative_scan(i, 0, branchy))


@triton.jit
def ex_rope(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """halves of a head turned by position"""
    token = tl.program_id(0)
    half = tl.arange(0, 16)
    angle = token * tl.exp2(half.to(tl.float32) * (-13.0 / 16))
    sin, cos = tl.sin(angle), tl.cos(angle)
    a, b = tl.load(X + token * 32 + half), tl.load(X + token * 32 + 16 + half)
    tl.store(OUT + token * 32 + half, a * cos - b * sin)
    tl.store(OUT + token * 32 + 16 + half, b * cos + a * sin)


@triton.jit
def ex_dropout(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """seeded dropout"""
    offsets = tl.program_id(0) * N + tl.arange(0, N)
    mask = offsets < 100
    x = tl.load(X + offsets, mask=mask)
    keep = tl.rand(n, offsets) > 0.5
    tl.store(OUT + offsets, tl.where(keep, x / (1 - 0.5), 0.0), mask=mask)


@triton.jit
def ex_jagged(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """sums of ragged segments whose ends are read from memory"""
    pid = tl.program_id(0)
    start = tl.load(I + pid) % 100
    end = start + tl.load(I + pid + 1) % 300
    acc = tl.zeros((32,), tl.float32)
    at = start
    while at < end:
        offsets = at + tl.arange(0, 32)
        acc += tl.load(X + offsets, mask=offsets < end, other=0.0)
        at += 32
    tl.store(OUT + pid, tl.sum(acc, 0))


@triton.jit
def ex_grouped_problems(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """several problems of different size walked by one pool of programs"""
    tile = tl.program_id(0)
    done = 0
    for problem in range(3):
        size = (problem + 1) * 20
        tiles = tl.cdiv(size, 16)
        while tile >= done and tile < done + tiles:
            at = (tile - done) * 16 + tl.arange(0, 16)
            tl.store(OUT + problem * 100 + at, tl.load(X + at, mask=at < size) * (problem + 1), mask=at < size)
            tile += tl.num_programs(0)
        done += tiles


@triton.jit
def ex_sparse_gather(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """rows picked by index, scattered with atomics; masks with negative indices"""
    pick = tl.load(I + tl.arange(0, 16)) - 400
    valid = pick >= 0
    rows = tl.where(valid, pick % 32, 0)
    cols = tl.arange(0, 8)
    x = tl.load(X + rows[:, None] * 8 + cols[None, :], mask=valid[:, None], other=0.0)
    tl.atomic_add(OUT + (rows % 4)[:, None] * 8 + cols[None, :], x, mask=valid[:, None])
    tl.store(IOUT + tl.arange(0, 16), valid.to(tl.int32) * rows)


@triton.jit
def ex_integer_types(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """conversions between widths and signs, bit tricks"""
    r = tl.arange(0, N)
    i = tl.load(I + r)
    narrow = (i * 77).to(tl.int8)
    wide = narrow.to(tl.uint8).to(tl.int64) * 3000000000
    tl.store(IOUT + r, (wide >> 20).to(tl.int32) + narrow)
    tl.store(IOUT + N + r, (i.to(tl.uint16) << 7).to(tl.int16).to(tl.int32))
    bits = tl.load(X + r).to(tl.int32, bitcast=True)
    tl.store(OUT + r, (bits & 0x7FFFFFFF).to(tl.float32, bitcast=True))
    tl.store(IOUT + 2 * N + r, (tl.load(X + r) * 20).to(tl.int32))
    tl.store(IOUT + 3 * N + r, i.to(tl.int1).to(tl.int32) + (i > 500))


@triton.jit
def ex_half_precision(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """fp16 values, sums and products rounded once each"""
    r = tl.arange(0, N)
    h = tl.load(X + r).to(tl.float16)
    k = tl.load(Y + r).to(tl.float16)
    tl.store(OUT + r, (h * k + 1).to(tl.float32))
    tl.store(OUT + N + r, (h / (k + 8)).to(tl.float32))
    tl.store(OUT + 2 * N + r, tl.maximum(h, k).to(tl.float32))
    tl.store(OUT + 3 * N + r, tl.where(h > k, h, 0.5).to(tl.float32))


@triton.jit
def ex_nested_control(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """loops in branches in loops, with values that all of them carry"""
    a, b = 0, 1
    for i in range(n // 5):
        if i % 3 == 0:
            for j in range(i):
                a += j
        elif i % 3 == 1:
            k = i
            while k > 0:
                b = (b * 3 + k) % 1000
                k -= 2
        else:
            a, b = b, a
    tl.store(IOUT + tl.program_id(0), a * 1000 + b)


@triton.jit
def ex_state_machine(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """a loop that ends by a flag, a block and a pointer carried beside it"""
    p = X + tl.arange(0, 16)
    total = tl.zeros((16,), tl.float32)
    going, step = True, 0
    while going:
        total += tl.load(p)
        p += 16
        step += 1
        going = (tl.sum(total) < 5.0) and (step < 20)
    tl.store(OUT + tl.arange(0, 16), total)
    tl.store(IOUT, step)


@triton.jit
def tile_through(source, target, row, column):
    target.store([row, column], source.load([row, column]) * 2)


@triton.jit
def ex_descriptor_matmul(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """a product over descriptors, ragged in every dimension, an epilogue through a reshaped tile"""
    rows, inner, columns = 21, n - 10, 24
    a_desc = tl.make_tensor_descriptor(X, shape=[rows, inner], strides=[40, 1], block_shape=[16, 16])
    b_desc = tl.make_tensor_descriptor(Y, shape=[inner, columns], strides=[24, 1], block_shape=[16, 32])
    c_desc = tl.make_tensor_descriptor(OUT, shape=[rows, columns], strides=[24, 1], block_shape=[16, 16])
    row = tl.program_id(0) * 16
    total = tl.zeros((16, 32), tl.float32)
    for k in range(tl.cdiv(inner, 16)):
        total = tl.dot(a_desc.load([row, k * 16]), b_desc.load([k * 16, 0]), total, input_precision="ieee")
    halves = tl.permute(tl.reshape(total, (16, 2, 16)), (0, 2, 1))
    left, right = tl.split(halves)
    c_desc.store([row, 0], left)
    c_desc.store([row, 16], right)


@triton.jit
def ex_descriptor_passed(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """descriptors as arguments of helpers, in branches and loops; integers and sizes of a pair"""
    source = tl.make_tensor_descriptor(X, [n, 20], [20, 1], [8, 16])
    target = tl.make_tensor_descriptor(OUT, [n, 20], [20, 1], [8, 16])
    if tl.program_id(0) == 1:
        source = tl.make_tensor_descriptor(Y, [n, 20], [20, 1], [8, 16])
        target = tl.make_tensor_descriptor(OUT + 2048, [n, 20], [20, 1], [8, 16])
    for row in range(0, n, 8):
        tile_through(source, target, row, 0)
        tile_through(source, target, row, 16)
    numbers = tl.make_tensor_descriptor(I, [n], [1], [N])
    counts = tl.make_tensor_descriptor(IOUT, (n - 1,), (1,), (N,))
    counts.store((0,), numbers.load((4,)) + 1)


@triton.jit
def ex_type_questions(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """8-bit floats in comparisons that are false, a constexpr of a run-time value, pointers as conditions"""
    r = tl.arange(0, N)
    x = tl.load(X + r)
    if x.dtype == tl.float8e4nv or x.dtype == tl.float8e5:
        x = x * 0
    if x.dtype.is_fp8():
        x = x * 0
    kept = tl.constexpr(n) + 1
    if X and not (not OUT) and n > 3:
        tl.store(OUT + r, x + kept)
    tl.store(IOUT + r, r + 1 if IOUT else r * 7)


@triton.jit
def ex_ten_axes(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """bits of an index turned round: a tile of ten axes of two"""
    i = tl.arange(0, 1024)
    x = tl.reshape(tl.load(X + i), (2, 2, 2, 2, 2, 2, 2, 2, 2, 2))
    x = tl.permute(x, (9, 8, 7, 6, 5, 4, 3, 2, 1, 0))
    tl.store(OUT + i, tl.reshape(x + tl.sum(x, 8, keep_dims=True), (1024,)))


@triton.jit
def scaled(x, *, factor: tl.constexpr, shift=1.0):
    return x * factor + shift


@triton.jit
def ex_keyword_only(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """a helper whose arguments after * are given by name"""
    r = tl.arange(0, N)
    tl.store(OUT + r, scaled(tl.load(X + r), factor=3.0) + scaled(tl.load(Y + r), shift=0.5, factor=2.0))


@triton.jit
def ex_chained_comparison(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """comparisons that chain, of run-time and compile-time scalars"""
    r = tl.arange(0, N)
    p = tl.program_id(0)
    if 0 <= p < 1 <= n:
        tl.store(OUT + r, tl.load(X + r))
    if 0 < p <= n != 49:
        tl.store(IOUT + r, tl.load(I + r))
    if n < p < 3:
        tl.store(OUT + r, 0.0)
    if 3 < N > p >= 1:
        tl.store(IOUT + N + r, tl.load(I + r) * 2)


@triton.jit
def ex_math_constants(X, Y, I, OUT, IOUT, n, N: tl.constexpr, LOW: tl.constexpr = BIAS):
    """numbers of Python's math and of torch.finfo"""
    r = tl.arange(0, N)
    x = tl.load(X + r)
    tl.store(OUT + r, tl.where(x < 0, math.pi, x + LOW))
    tl.store(OUT + N + r, tl.where(x < math.e, x, math.tau))


@triton.jit
def ex_run_time_constexpr(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """an annotation of constexpr that a run-time value has, which stays one"""
    tile: tl.constexpr = 4 * n
    r = tile * tl.program_id(0) + tl.arange(0, N)
    tl.store(OUT + r, tl.load(X + r))


@triton.jit
def ex_formatted_text(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """texts of compile-time values, with their names"""
    tl.static_assert(N % 8 == 0, f"{N=} {N!r} {N + 1 = }")
    tl.static_assert(f"{N=}" == "N=64" and f"{'a'!r}" == "'a'", "texts differ")
    r = tl.arange(0, N)
    tl.store(OUT + r, tl.load(X + r))
