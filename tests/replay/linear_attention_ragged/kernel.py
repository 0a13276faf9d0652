import triton
import triton.language as tl


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
