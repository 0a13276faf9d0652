# tests/replay/recipes_blocks.py - launches to record: matmul, attention, moving data, odd layouts.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Each recipe_NAME(record) launches one kernel on data of its own; record_from_triton.py calls it."""
import torch
import triton
import triton.language as tl

from record_from_triton import check


@triton.jit
def leaky(x):
    return tl.where(x >= 0, x, 0.01 * x)


@triton.autotune(configs=[triton.Config({"BM": 32, "BN": 32, "BK": 32, "GROUP": 8}, num_warps=4)], key=["M", "N", "K"])
@triton.jit
def matmul_grouped(A, B, C, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
                   BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
                   ACTIVATION: tl.constexpr):
    """Neighbouring programs share rows of A and columns of B: they go through GROUP rows of blocks at a time."""
    pid = tl.program_id(axis=0)
    blocks_m, blocks_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    in_group = GROUP * blocks_n
    first = pid // in_group * GROUP
    rows = min(blocks_m - first, GROUP)
    pid_m = first + pid % in_group % rows
    pid_n = pid % in_group // rows
    m = (pid_m * BM + tl.arange(0, BM)) % M
    n = (pid_n * BN + tl.arange(0, BN)) % N
    k = tl.arange(0, BK)
    a = A + m[:, None] * stride_am + k[None, :] * stride_ak
    b = B + k[:, None] * stride_bk + n[None, :] * stride_bn
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, BK)):
        left = K - step * BK
        acc = tl.dot(tl.load(a, mask=k[None, :] < left, other=0.0), tl.load(b, mask=k[:, None] < left, other=0.0), acc)
        a += BK * stride_ak
        b += BK * stride_bk
    if ACTIVATION == "leaky":
        acc = leaky(acc)
    c = acc.to(tl.float16)
    m = pid_m * BM + tl.arange(0, BM)
    n = pid_n * BN + tl.arange(0, BN)
    tl.store(C + stride_cm * m[:, None] + stride_cn * n[None, :], c, mask=(m[:, None] < M) & (n[None, :] < N))


def recipe_matmul_grouped_activation(record):
    M, N, K = 80, 72, 50
    a, b, c = torch.randn(M, K).half(), torch.randn(N, K).half().t(), torch.zeros(M, N).half()
    record(matmul_grouped, (triton.cdiv(M, 32) * triton.cdiv(N, 32),), a, b, c, M, N, K, *a.stride(), *b.stride(),
           *c.stride(), BM=32, BN=32, BK=32, GROUP=2, ACTIVATION="leaky", num_warps=8, num_stages=3)
    want = torch.nn.functional.leaky_relu(a.float() @ b.float(), 0.01)
    check("c", c.float(), want, 0.05)


@triton.jit
def matmul_block_pointers(A, B, BIAS, C, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
                          BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid_m, pid_n = tl.program_id(0), tl.program_id(1)
    a = tl.make_block_ptr(base=A, shape=(M, K), strides=(stride_am, stride_ak), offsets=(pid_m * BM, 0),
                          block_shape=(BM, BK), order=(1, 0))
    b = tl.make_block_ptr(base=B, shape=(K, N), strides=(stride_bk, stride_bn), offsets=(0, pid_n * BN),
                          block_shape=(BK, BN), order=(1, 0))
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, K, BK):
        x = tl.load(a, boundary_check=(0, 1), padding_option="zero")
        y = tl.load(b, boundary_check=(0, 1), padding_option="zero")
        acc += tl.dot(x, y)
        a = tl.advance(a, (0, BK))
        b = tl.advance(b, (BK, 0))
    if BIAS is not None:
        n = pid_n * BN + tl.arange(0, BN)
        acc += tl.load(BIAS + n, mask=n < N, other=0.0)[None, :]
    c = tl.make_block_ptr(base=C, shape=(M, N), strides=(stride_cm, stride_cn), offsets=(pid_m * BM, pid_n * BN),
                          block_shape=(BM, BN), order=(1, 0))
    tl.store(c, acc.to(C.dtype.element_ty), boundary_check=(0, 1))


def recipe_matmul_block_pointers(record):
    M, N, K = 70, 50, 40
    a, b = torch.randn(M, K), torch.randn(K, 64)[:, :N]
    c = torch.full((M, 56), -1.0)[:, :N]                # the gap after each row must stay
    record(matmul_block_pointers, (3, 2), a, b, torch.randn(N), c, M, N, K, *a.stride(), *b.stride(), *c.stride(),
           BM=32, BN=32, BK=16)


@triton.jit
def attention(Q, K, V, O, LSE, scale, stride_qh, stride_qt, stride_kh, stride_kt, stride_oh, stride_ot, T, GROUP,
              D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Causal attention with shared key heads; LSE is the natural logarithm of the sum."""
    block, head = tl.program_id(0), tl.program_id(1)
    t = block * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    q = tl.load(Q + head * stride_qh + t[:, None] * stride_qt + d[None, :], mask=t[:, None] < T, other=0.0)
    K += (head // GROUP) * stride_kh
    V += (head // GROUP) * stride_kh
    peak = tl.full([BM], -float("inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    for start in tl.range(0, tl.minimum((block + 1) * BM, T), BN):
        s_at = start + tl.arange(0, BN)
        k = tl.load(K + s_at[None, :] * stride_kt + d[:, None], mask=s_at[None, :] < T, other=0.0)
        s = tl.dot(q, k) * (scale * 1.4426950408889634)
        s = tl.where((t[:, None] >= s_at[None, :]) & (s_at[None, :] < T), s, -float("inf"))
        new = tl.maximum(peak, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        alpha = tl.exp2(peak - new)
        total = total * alpha + tl.sum(p, 1)
        v = tl.load(V + s_at[:, None] * stride_kt + d[None, :], mask=s_at[:, None] < T, other=0.0)
        acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v)
        peak = new
    acc = acc / total[:, None]
    tl.store(O + head * stride_oh + t[:, None] * stride_ot + d[None, :], acc.to(O.type.element_ty), mask=t[:, None] < T)
    tl.store(LSE + head * T + t, (peak + tl.log2(total)) * 0.6931471805599453, mask=t < T)


def recipe_attention_causal_bf16(record):
    T, H, G, D = 70, 4, 2, 32
    q = torch.randn(T, H, D).bfloat16().transpose(0, 1)      # heads first, tokens apart by H D
    k, v = (torch.randn(T, H // G, D).bfloat16().transpose(0, 1) for _ in range(2))
    o = torch.zeros(T, H, D).bfloat16().transpose(0, 1)
    record(attention, (3, H), q, k, v, o, torch.zeros(H, T), D ** -0.5, q.stride(0), q.stride(1), k.stride(0), k.stride(1),
           o.stride(0), o.stride(1), T, G, D=D, BM=32, BN=32, num_warps=4, num_stages=1)
    want = torch.nn.functional.scaled_dot_product_attention(
        q.float(), k.float().repeat_interleave(G, 0), v.float().repeat_interleave(G, 0), is_causal=True)
    check("o", o.float(), want, 0.03)


@triton.jit
def selected_attention(Q, K, V, O, LSE, SELECTED, scale, T, heads, G: tl.constexpr, D: tl.constexpr, B: tl.constexpr,
                       N: tl.constexpr):
    """A program for each token and head of k, as published kernels of selected attention do it: the G heads of q that share it
    are the rows of a tile, and each of the token's N selected blocks of keys is loaded behind its index; -1 selects nothing."""
    t = tl.program_id(0)
    h = tl.program_id(1)
    g, d, b = tl.arange(0, G), tl.arange(0, D), tl.arange(0, B)
    row = t * heads + h
    q = tl.load(Q + (row * G + g)[:, None] * D + d[None, :])
    acc = tl.zeros((G, D), tl.float32)
    top = tl.full((G,), -float("inf"), tl.float32)
    total = tl.zeros((G,), tl.float32)
    for n in range(N):
        start = tl.load(SELECTED + row * N + n) * B
        if start >= 0 and start <= t:
            keys = start + b
            at = (keys * heads + h)[:, None] * D + d[None, :]
            inside = keys < T
            k = tl.load(K + at, mask=inside[:, None], other=0.0)
            s = tl.dot(q, tl.trans(k)) * scale
            s = tl.where((keys <= t)[None, :], s, -float("inf"))
            new = tl.maximum(top, tl.max(s, 1))
            p = tl.exp(s - new[:, None])
            old = tl.exp(top - new)
            total = total * old + tl.sum(p, 1)
            v = tl.load(V + at, mask=inside[:, None], other=0.0)
            acc = acc * old[:, None] + tl.dot(p.to(v.dtype), v)
            top = new
    tl.store(O + (row * G + g)[:, None] * D + d[None, :], (acc / total[:, None]).to(O.dtype.element_ty))
    tl.store(LSE + row * G + g, top + tl.log(total))


def recipe_selected_attention(record):
    T, heads, G, D, B, N = 20, 2, 16, 64, 16, 2
    q, o = torch.randn(T, heads, G, D).bfloat16(), torch.zeros(T, heads, G, D).bfloat16()
    k, v = (torch.randn(T, heads, D).bfloat16() for _ in range(2))
    lse = torch.zeros(T, heads, G)
    selected = torch.full((T, heads, N), -1, dtype=torch.int32)
    for t in range(T):
        for h in range(heads):
            first = t // B                                    # the token's own block, then earlier ones
            others = torch.randperm(first)[:N - 1]
            chosen = torch.cat([others, torch.tensor([first])]).sort().values
            selected[t, h, :len(chosen)] = chosen.int()
    record(selected_attention, (T, heads), q, k, v, o, lse, selected, D ** -0.5, T, heads, G=G, D=D, B=B, N=N, num_warps=4,
           num_stages=2)
    for t in range(T):
        for h in range(heads):
            rows = torch.cat([torch.arange(b * B, b * B + B) for b in selected[t, h].tolist() if b >= 0])
            rows = rows[rows <= t]
            p = torch.softmax(q[t, h].float() @ k[rows, h].float().T * D ** -0.5, -1)
            check("o", o[t, h].float(), p @ v[rows, h].float(), 0.05)


@triton.jit
def rope(X, COS, SIN, T, heads, stride_t, stride_h, HALF: tl.constexpr, BT: tl.constexpr, BACKWARD: tl.constexpr):
    """In place: the two halves of a head are the parts of complex numbers."""
    t = tl.program_id(0) * BT + tl.arange(0, BT)
    head = tl.program_id(1)
    i = tl.arange(0, HALF)
    inside = (t < T)[:, None]
    cos = tl.load(COS + t[:, None] * HALF + i[None, :], mask=inside)
    sin = tl.load(SIN + t[:, None] * HALF + i[None, :], mask=inside)
    if BACKWARD:
        sin = -sin
    at = X + t[:, None] * stride_t + head * stride_h + i[None, :]
    x = tl.load(at, mask=inside)
    y = tl.load(at + HALF, mask=inside)
    tl.store(at, x * cos - y * sin, mask=inside)
    tl.store(at + HALF, y * cos + x * sin, mask=inside)


def recipe_rope_in_place(record):
    T, H, D = 30, 3, 16
    packed = torch.randn(T, H + 2, D)                         # heads of k and v lie between
    x = packed[:, :H]
    angle = torch.arange(T)[:, None] * 10000.0 ** (-torch.arange(D // 2) / (D // 2))
    record(rope, (4, H), x, angle.cos(), angle.sin(), T, H, x.stride(0), x.stride(1), HALF=D // 2, BT=8, BACKWARD=False)


@triton.jit
def permute_copy(IN, OUT, n0, n1, n2, si0, si1, si2, so0, so1, so2, B: tl.constexpr):
    a = tl.program_id(2)
    i = tl.program_id(1) * B + tl.arange(0, B)
    j = tl.program_id(0) * B + tl.arange(0, B)
    inside = (i < n1)[:, None] & (j < n2)[None, :]
    x = tl.load(IN + a * si0 + i[:, None] * si1 + j[None, :] * si2, mask=inside)
    tl.store(OUT + a * so0 + i[:, None] * so1 + j[None, :] * so2, x, mask=inside)


def recipe_permute_3d_grid(record):
    x = torch.randint(-30000, 30000, (3, 20, 18), dtype=torch.int16).permute(0, 2, 1)      # [3, 18, 20]
    out = torch.zeros(20, 3, 25, dtype=torch.int16)[:, :, :18].permute(1, 2, 0)            # gaps of 7
    record(permute_copy, (2, 2, 3), x, out, *x.shape, *x.stride(), *out.stride(), B=16)


def recipe_expanded_input(record):
    x = torch.randn(1, 1, 20).bfloat16().expand(3, 18, 20)                                # strides 0, 0, 1
    out = torch.zeros(3, 18, 20).bfloat16()
    record(permute_copy, (2, 2, 3), x, out, *x.shape, *x.stride(), *out.stride(), B=16, compare={"OUT": "exact"})


@triton.jit
def hash_offsets(OUT, seed, base, n, BLOCK: tl.constexpr):
    """64-bit arithmetic on numbers that i32 does not hold."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    wide = at.to(tl.int64) * 2654435761 + base
    mixed = (wide ^ seed) * 7
    tl.store(OUT + at, (mixed >> 3) & 0xFFFFFFFFFF, mask=at < n)


def recipe_int64_scalars(record):
    record(hash_offsets, (2,), torch.zeros(100, dtype=torch.int64), 6364136223846793005, -(1 << 40), 100, BLOCK=64)


@triton.jit
def embed(TABLE, TOKENS, OUT, USED, dim, padding, BLOCK: tl.constexpr):
    position = tl.program_id(0).to(tl.int64)
    token = tl.load(TOKENS + position)
    d = tl.arange(0, BLOCK)
    row = tl.load(TABLE + token * dim + d, mask=(d < dim) & (token != padding), other=0.0)
    tl.store(OUT + position * dim + d, row, mask=d < dim)
    tl.atomic_max(USED + token, 1)


def recipe_embedding_gather(record):
    tokens = torch.randint(0, 50, (33,))
    tokens[7] = 0
    record(embed, (33,), torch.randn(50, 40).bfloat16(), tokens, torch.zeros(33, 40).bfloat16(),
           torch.zeros(50, dtype=torch.int32), 40, 0, BLOCK=64, compare={"OUT": "exact"})


@triton.jit
def sum_sequences(X, OFFSETS, OUT, dim, stride, BT: tl.constexpr, BD: tl.constexpr):
    """The mean over the tokens of each sequence; sequences differ in length, one is empty."""
    sequence = tl.program_id(1)
    begin = tl.load(OFFSETS + sequence)
    end = tl.load(OFFSETS + sequence + 1)
    d = tl.program_id(0) * BD + tl.arange(0, BD)
    acc = tl.zeros((BD,), tl.float32)
    for start in range(begin, end, BT):
        t = start + tl.arange(0, BT)
        x = tl.load(X + t[:, None] * stride + d[None, :], mask=(t < end)[:, None] & (d < dim)[None, :], other=0.0)
        acc += tl.sum(x, axis=0)
    mean = acc / tl.maximum(end - begin, 1)
    tl.store(OUT + sequence * dim + d, mean, mask=d < dim)


def recipe_jagged_mean(record):
    lengths = torch.tensor([5, 0, 17, 1, 40])
    offsets = torch.cat([torch.zeros(1), lengths.cumsum(0)]).int()
    x = torch.randn(63, 48)
    record(sum_sequences, (2, 5), x, offsets, torch.full((5, 48), 9.0), 48, 48, BT=16, BD=32)


@triton.jit
def linear_attention(Q, K, V, STATE, DECAY, O, OFFSETS, CHUNKS, scale, T, H: tl.constexpr, D: tl.constexpr,
                     BT: tl.constexpr, BK: tl.constexpr, BV: tl.constexpr, RAGGED: tl.constexpr):
    """The part within a chunk. Chunks of ragged sequences are listed as (sequence, chunk) pairs."""
    iv, chunk, head = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    if RAGGED:
        sequence, chunk = tl.load(CHUNKS + chunk * 2).to(tl.int32), tl.load(CHUNKS + chunk * 2 + 1).to(tl.int32)
        begin, end = tl.load(OFFSETS + sequence).to(tl.int32), tl.load(OFFSETS + sequence + 1).to(tl.int32)
        T = end - begin
    else:
        begin, end = 0, T
    base = begin * H + head
    scores = tl.zeros([BT, BT], dtype=tl.float32)
    for ik in range(tl.cdiv(D, BK)):
        q = tl.make_block_ptr(Q + base * D, (T, D), (H * D, 1), (chunk * BT, ik * BK), (BT, BK), (1, 0))
        k = tl.make_block_ptr(K + base * D, (D, T), (1, H * D), (ik * BK, chunk * BT), (BK, BT), (0, 1))
        scores += tl.dot(tl.load(q, boundary_check=(0, 1)), tl.load(k, boundary_check=(0, 1)))
    if DECAY is not None:
        decay = tl.make_block_ptr(DECAY + base, (T,), (H,), (chunk * BT,), (BT,), (0,))
        d = tl.load(decay, boundary_check=(0,)).to(tl.float32)
        scores = scores * tl.exp(d[:, None] - d[None, :])
    t = tl.arange(0, BT)
    scores = tl.where(t[:, None] >= t[None, :], scores, 0)
    v = tl.make_block_ptr(V + base * D, (T, D), (H * D, 1), (chunk * BT, iv * BV), (BT, BV), (1, 0))
    o = tl.make_block_ptr(O + base * D, (T, D), (H * D, 1), (chunk * BT, iv * BV), (BT, BV), (1, 0))
    x = tl.load(v, boundary_check=(0, 1))
    y = tl.dot(scores.to(x.dtype), x) * scale
    if STATE is not None:
        y += tl.load(STATE)
    tl.store(o, y.to(o.dtype.element_ty), boundary_check=(0, 1))


def recipe_linear_attention_ragged(record):
    T, H, D, BT = 50, 2, 32, 16
    offsets = torch.tensor([0, 20, T])
    chunks = torch.tensor([[0, 0], [0, 1], [1, 0], [1, 1]])
    q, k, v = (torch.randn(T, H, D) for _ in range(3))
    decay = -torch.rand(T, H).cumsum(0) * 0.1
    record(linear_attention, (2, 4, H), q, k, v, None, decay, torch.zeros(T, H, D), offsets, chunks, D ** -0.5, T, H=H,
           D=D, BT=BT, BK=32, BV=16, RAGGED=True)


@triton.jit
def paged_decode(Q, KEYS, VALUES, PAGES, LENGTHS, O, stride_q, stride_page, stride_token, pages, scale,
                 PAGE: tl.constexpr, D: tl.constexpr):
    """One query per sequence over keys that lie in pages anywhere in a pool."""
    b = tl.program_id(0)
    length = tl.load(LENGTHS + b)
    d = tl.arange(0, D)
    t = tl.arange(0, PAGE)
    q = tl.load(Q + b * stride_q + d).to(tl.float32)
    peak = -float("inf")
    total = 0.0
    acc = tl.zeros([D], tl.float32)
    for j in range(0, tl.cdiv(length, PAGE)):
        page = tl.load(PAGES + b * pages + j).to(tl.int64) * stride_page
        inside = j * PAGE + t < length
        at = page + t[:, None] * stride_token + d[None, :]
        k = tl.load(KEYS + at, mask=inside[:, None], other=0.0).to(tl.float32)
        s = tl.where(inside, tl.sum(q[None, :] * k, 1) * scale, -float("inf"))
        new = tl.maximum(peak, tl.max(s, 0))
        shrink = tl.exp(peak - new)
        p = tl.exp(s - new)
        v = tl.load(VALUES + at, mask=inside[:, None], other=0.0).to(tl.float32)
        acc = acc * shrink + tl.sum(p[:, None] * v, 0)
        total = total * shrink + tl.sum(p, 0)
        peak = new
    tl.store(O + b * stride_q + d, (acc / total).to(O.dtype.element_ty))


def recipe_paged_decode(record):
    keys, values = (torch.randn(12, 8, 32).half() for _ in range(2))
    pages = torch.randperm(12).int().reshape(3, 4)
    record(paged_decode, (3,), torch.randn(3, 32).half(), keys, values, pages,
           torch.tensor([5, 32, 17], dtype=torch.int32), torch.zeros(3, 32).half(), 32, 256, 32, 4, 32 ** -0.5, PAGE=8,
           D=32)


@triton.jit
def quantize_rows(X, Q, SCALE, M, N, BM: tl.constexpr, BN: tl.constexpr):
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    c = tl.arange(0, BN)
    inside = (r < M)[:, None] & (c < N)[None, :]
    x = tl.load(X + r[:, None] * N + c[None, :], mask=inside, other=0.0)
    largest = tl.max(tl.abs(x), axis=1, keep_dims=True)
    scale = tl.where(largest == 0, 1.0, largest / 127.0)
    q = tl.clamp(tl.floor(x / scale + 0.5), -127.0, 127.0)
    tl.store(Q + r[:, None] * N + c[None, :], q.to(tl.int8), mask=inside)
    tl.store(SCALE + r, tl.reshape(scale, (BM,)), mask=r < M)


def recipe_quantize_int8(record):
    record(quantize_rows, (3,), torch.randn(20, 40), torch.zeros(20, 40, dtype=torch.int8), torch.zeros(20), 20, 40,
           BM=8, BN=64)


@triton.jit
def bytes_and_flags(A, B, FLAGS, OUT, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    a = tl.load(A + at, mask=inside, other=0)
    b = tl.load(B + at, mask=inside, other=0)
    flag = tl.load(FLAGS + at, mask=inside, other=0)
    tl.store(OUT + at, tl.where(flag != 0, a.to(tl.int32) * b.to(tl.int32), a.to(tl.int32) - b.to(tl.int32)), mask=inside)


def recipe_small_integers(record):
    record(bytes_and_flags, (2,), torch.randint(0, 255, (90,), dtype=torch.uint8),
           torch.randint(-128, 127, (90,), dtype=torch.int8), torch.rand(90) > 0.5, torch.zeros(90, dtype=torch.int32),
           90, BLOCK=64)


@triton.jit
def add_one(X, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(X + at, tl.load(X + at, mask=at < n) + 1, mask=at < n)


def recipe_no_elements(record):
    record(add_one, (1,), torch.zeros(0), 0, BLOCK=16)


def recipe_single_element(record):
    record(add_one, (1,), torch.tensor(2.5), 1, BLOCK=16)
