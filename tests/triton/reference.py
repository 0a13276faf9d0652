# tests/triton/reference.py - Native Sparse Attention in fp64 torch operations, straight from the definitions.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Slow, obvious, differentiable. Packed tokens: q [T,Hq,D], k [T,Hkv,D], v [T,Hkv,E]; `lens` lists the sequences.
Nothing here shares code or formulas' rearrangements with the kernels: weights are token overlaps counted one by one,
masks are dense, selection is a Python sort."""
import torch


def spans(lens):
    """[(start, end)] of each sequence."""
    out, at = [], 0
    for n in lens:
        out.append((at, at + n))
        at += n
    return out


def prefix(counts):
    return torch.tensor([0] + list(torch.tensor(counts, dtype=torch.int64).cumsum(0)), dtype=torch.int32)


def compressed_count(length, l, d):
    return 0 if length < l else (length - l) // d + 1


def compress(x, w, lens, l, d):
    """w [l,D] or None for the mean."""
    w = torch.full((l, x.shape[-1]), 1.0 / l, dtype=x.dtype) if w is None else w
    rows = []
    for a, b in spans(lens):
        for i in range(compressed_count(b - a, l, d)):
            block = x[a + i * d:a + i * d + l]                       # [l,H,D]
            rows.append((block * w[:, None, :]).sum(0))
    return torch.stack(rows) if rows else x.new_zeros(0, *x.shape[1:])


def attend(q, k, v, mask, scale):
    """q [m,Hq,D], k [n,Hkv,D], v [n,Hkv,E], mask [Hkv,m,n] -> o [m,Hq,E], lse [Hq,m], p [Hq,m,n]; no key: 0, -inf."""
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    mask = mask.repeat_interleave(group, 0)
    s = torch.einsum("mhd,nhd->hmn", q, k) * scale
    s = s.masked_fill(~mask, float("-inf"))
    live = mask.any(-1)
    p = torch.zeros_like(s)
    lse = torch.full(s.shape[:2], float("-inf"), dtype=s.dtype)
    if live.any():
        p = torch.where(live[..., None], torch.softmax(torch.where(live[..., None], s, 0.0), -1), 0.0)
        lse = torch.where(live, torch.logsumexp(torch.where(live[..., None], s, 0.0), -1), lse)
    return torch.einsum("hmn,nhe->mhe", p, v), lse, p


def attention(q, k, v, lens, mask_of, scale, key_lens=None):
    """mask_of(sequence number, m, n) -> bool [Hkv,m,n]; returns o, lse over all sequences and p of each."""
    os, lses, ps = [], [], []
    for b, ((a, z), (ka, kz)) in enumerate(zip(spans(lens), spans(key_lens or lens))):
        if z == a:
            continue
        o, lse, p = attend(q[a:z], k[ka:kz], v[ka:kz], mask_of(b, z - a, kz - ka), scale)
        os.append(o)
        lses.append(lse)
        ps.append(p)
    return torch.cat(os), torch.cat(lses, 1), ps


def window_mask(heads, w):
    def mask(b, m, n):
        t, i = torch.arange(m)[:, None], torch.arange(n)[None]
        return ((i <= t) & (i >= t - w + 1)).expand(heads, m, n)
    return mask


def causal_mask(heads):
    return window_mask(heads, 1 << 30)


def compressed_mask(heads, l, d):
    def mask(b, m, n):
        t, i = torch.arange(m)[:, None], torch.arange(n)[None]
        return (i * d + l <= t + 1).expand(heads, m, n)
    return mask


def overlap(count, blocks, l, d, lsel):
    """Token overlap of compressed block i and selection block j, counted."""
    w = torch.zeros(count, blocks, dtype=torch.float64)
    for i in range(count):
        for token in range(i * d, i * d + l):
            if token // lsel < blocks:
                w[i, token // lsel] += 1
    return w


def scores(ps, lens, group, l, d, lsel):
    """Group scores [Hkv,T,max blocks], zero past a sequence's blocks. Unit: overlap/d, or overlap/l if not divisible."""
    unit = d if l % d == 0 and lsel % d == 0 else l
    most = max([-(-n // lsel) for n in lens])
    out = []
    for p, _ in zip(ps, [n for n in lens if n]):
        heads = p.shape[0] // group
        w = overlap(p.shape[2], most, l, d, lsel) / unit
        out.append(p.unflatten(0, (heads, group)).sum(1) @ w)
    return torch.cat(out, 1)


def select(score, t, lsel, n, init=1, local=2):
    """One row: ascending indices."""
    cur = t // lsel
    forced = {j for j in range(init) if j <= cur} | {j for j in range(cur - local + 1, cur + 1) if j >= 0}
    rest = [j for j in range(cur + 1) if j not in forced]
    nan = [x != x for x in score]
    rest.sort(key=lambda j: (nan[j], 0.0 if nan[j] else -score[j], j))
    return sorted(forced | set(rest[:max(0, n - len(forced))]))


def select_all(score, lens, lsel, n, init=1, local=2):
    """score [Hkv,T,blocks] -> int32 [Hkv,T,n], -1 padded."""
    out = torch.full((score.shape[0], score.shape[1], n), -1, dtype=torch.int32)
    rows = score.tolist()
    for h in range(score.shape[0]):
        for a, z in spans(lens):
            for t in range(z - a):
                picked = select(rows[h][a + t], t, lsel, n, init, local)
                out[h, a + t, :len(picked)] = torch.tensor(picked, dtype=torch.int32)
    return out


def ranges_of(blocks, t, lsel):
    out = []
    for j in blocks:
        begin, end = j * lsel, min((j + 1) * lsel, t + 1)
        if out and out[-1][1] == begin:
            out[-1][1] = end
        else:
            out.append([begin, end])
    return out


def selected_mask(idx, lens, lsel):
    """idx [Hkv,T,n]: mask of the tokens in the selected blocks at or before t."""
    starts = [a for a, _ in spans(lens)]

    def mask(b, m, n):
        out = torch.zeros(idx.shape[0], m, n, dtype=torch.bool)
        for h in range(idx.shape[0]):
            for t in range(m):
                for j in idx[h, starts[b] + t].tolist():
                    if j >= 0:
                        out[h, t, j * lsel:min((j + 1) * lsel, t + 1)] = True
        return out
    return mask


def gates(logits, softmax, tau):
    return torch.softmax(logits / tau, -1) if softmax else torch.sigmoid(logits / tau)


def combine(branches, g):
    """branches: three [T,Hq,E]; g [T,Hkv,3]."""
    group = branches[0].shape[1] // g.shape[1]
    g = g.repeat_interleave(group, 1)
    return sum(g[..., c:c + 1] * o for c, o in enumerate(branches))


def rmsnorm(x, w, eps):
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + eps) * w


def rope(x, lens, rotary, base=10000.0, scale=1.0, offset=0):
    """Interleaved pairs, complex multiplication."""
    pos = torch.cat([torch.arange(n) for n in lens]).double() + offset
    freq = base ** (-torch.arange(0, rotary, 2).double() / rotary)
    turn = torch.polar(torch.ones(len(pos), rotary // 2, dtype=torch.float64), pos[:, None] / scale * freq)
    z = torch.view_as_complex(x[..., :rotary].reshape(*x.shape[:-1], rotary // 2, 2).contiguous())
    return torch.cat([torch.view_as_real(z * turn[:, None]).flatten(-2), x[..., rotary:]], -1)
