# tests/triton/backward_test.py - every backward NSA and dense kernel under Triton's interpreter against fp64 autograd.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import torch

from launcher import LIMITS, cdiv, check, dot_limit, equal, fresh, launch, pow2
import reference as ref
from cases import Problem, Shape, each_shape, rows, strides
from inverse import chunk_tokens, inverse_index, selected_dkdv
from parts import compressed_dkdv


def leaf(x):
    return x.detach().double().requires_grad_()


def grad(y, xs, dy):
    """Zeros where an input has no part in the result (no compressed block, say)."""
    got = torch.autograd.grad(y, xs, dy, allow_unused=True) if y.requires_grad else [None] * len(xs)
    return [torch.zeros_like(x) if g is None else g for x, g in zip(xs, got)]


def delta_of(p, o):
    s, delta = p.shape, p.rows()
    launch("nsa/attn_delta.py", "attn_delta", (cdiv(p.T, 16), p.hq), *rows(o, p.do, delta), p.T, E=s.vdim, EP=pow2(s.vdim), BT=16)
    check("attn_delta", delta, (o.double() * p.do.double()).sum(-1), 1e-5)
    return delta


def gradients(p, path, stem, k, v, lse, delta, **extra):
    """dq, dk, dv by the *_bwd_dq and *_bwd_dkdv kernels of one file."""
    s = p.shape
    dq = fresh(p.T, p.hq, s.dim, dtype=s.dtype)
    dk, dv = fresh(k.shape[0], s.hkv, s.dim, dtype=s.dtype), fresh(k.shape[0], s.hkv, s.vdim, dtype=s.dtype)
    given = dict(G=s.group, **extra, **p.heads, **p.tiles)
    launch(path, stem + "_bwd_dq", p.grid_rows(), *rows(p.q, k, v, p.do, lse, delta, dq), p.cu, p.scale, p.B, **given)
    launch(path, stem + "_bwd_dkdv", p.grid(s.bn, k.shape[0])[::-1], *rows(p.q, k, v, p.do, lse, delta, dk, dv), p.cu, p.scale, p.B, **given)
    return dq, dk, dv


def in_one_pass(p, k, v, lse, delta, shares):
    """dq, dk, dv of dense attention by the kernel that computes every score once."""
    s = p.shape
    dq, dk, dv = fresh(p.T, p.hq, s.dim, dtype=s.dtype), fresh(shares * p.T, s.hkv, s.dim), fresh(shares * p.T, s.hkv, s.vdim)
    launch("dense/attn_bwd_fused.py", "dense_bwd", (s.hkv, p.B, shares), *rows(p.q, k, v, p.do, lse, delta, dq, dk, dv), p.cu, p.scale, p.T, shares,
           G=s.group, D=s.dim, DP=pow2(s.dim), E=s.vdim, EP=pow2(s.vdim), **p.tiles)
    return dq, *(x.reshape(shares, p.T, *x.shape[1:]).sum(0) for x in (dk, dv))


def counters(p):
    """The ticket and the counters of the kernels *_bwd_ordered, and the number of the counters of a head."""
    tiles = p.T // (p.shape.bm // p.shape.group) + p.B
    return torch.zeros(4, dtype=torch.int32), torch.zeros(p.shape.hkv, tiles, dtype=torch.int32), tiles


def in_order(p, path, stem, k, v, lse, delta, **extra):
    """dq, dk, dv by the kernel of one file whose programs add to dq in turn. Its counters are 0 again afterwards."""
    s, (ticket, added, tiles) = p.shape, counters(p)
    total, dk, dv = fresh(p.T, p.hq, s.dim), fresh(k.shape[0], s.hkv, s.dim, dtype=s.dtype), fresh(k.shape[0], s.hkv, s.vdim, dtype=s.dtype)
    launch(path, stem + "_bwd_ordered", p.grid(s.bn, k.shape[0])[::-1], *rows(p.q, k, v, p.do, lse, delta, total, dk, dv), p.cu, ticket, added, p.scale,
           p.B, tiles, G=s.group, **extra, **p.heads, **p.tiles)
    equal(f"{stem}_bwd_ordered.counters ({s})", torch.cat((ticket, added.flatten())), torch.zeros(4 + added.numel(), dtype=torch.int32))
    return total * p.scale, dk, dv


def compressed_in_order(p, k, v, lse, delta, span, parts):
    """The same of compressed attention, by `parts` of the tokens: adds to a sum of dq that is 0."""
    s, count, (ticket, added, tiles) = p.shape, k.shape[0], counters(p)
    total, part = torch.zeros(p.T, p.hq, s.dim), fresh(count if parts > 1 else 0, s.hkv, parts, s.dim + s.vdim)
    dk, dv = fresh(count, s.hkv, s.dim, dtype=s.dtype), fresh(count, s.hkv, s.vdim, dtype=s.dtype)
    grid, heads = p.grid(s.bn, count)
    launch("nsa/cmp_bwd_ordered.py", "cmp_bwd_ordered", (heads, grid * parts), *rows(p.q, k, v, p.do, lse, delta), part, *rows(total, dk, dv), p.cu,
           p.cu_cmp, ticket, added, p.scale, p.B, tiles, parts, G=s.group, L=s.l, STRIDE=s.d, SPAN=span, ADD=1, **p.heads, **p.tiles)
    equal(f"cmp_bwd_ordered.counters ({s})", torch.cat((ticket, added.flatten())), torch.zeros(4 + added.numel(), dtype=torch.int32))
    if parts > 1:
        launch("nsa/bwd_sum.py", "cmp_bwd_sum", p.grid(8, count)[::-1], part, *rows(dk, dv), p.cu, p.cu_cmp, p.scale, p.B, parts, SPAN=span, D=s.dim,
               DP=pow2(s.dim), E=s.vdim, EP=pow2(s.vdim), BR=8)
    return total * p.scale, dk, dv


def compare(what, p, got, k, v, mask, key_lens=None):
    q, k, v = leaf(p.q), leaf(k), leaf(v)
    o, _, _ = ref.attention(q, k, v, p.shape.lens, mask, p.scale, key_lens)
    want = grad(o, (q, k, v), p.do.double())
    for name, a, b in zip(("dq", "dk", "dv"), got, want):
        check(f"{what}.{name} ({p.shape})", a, b, dot_limit(p.shape.dtype))


def selected(p, idx, what):
    s = p.shape
    o, lse = p.selected(idx, "select_list_fwd")
    delta = delta_of(p, o)
    k, v = p.k[1], p.v[1]
    dq, dq_list = (fresh(p.T, p.hq, s.dim, dtype=s.dtype) for _ in range(2))
    behind = torch.full((p.T, p.hq, s.dim + 64), 7.0, dtype=s.dtype)     # columns outside of every tensor
    dq_packed = behind[..., :s.dim]
    p.token_dq(idx, p.do, lse, delta, dq)
    p.list_dq(idx, p.do, lse, delta, dq_list)
    p.packed_dq(idx, p.do, lse, delta, dq_packed)
    equal(f"{what}_packed.columns after ({s})", behind[..., s.dim:], torch.full_like(behind[..., s.dim:], 7.0))
    dk, dv, _ = selected_dkdv(p, inverse_index(p, idx), lse, delta, chunk_tokens(p))
    mask = ref.selected_mask(idx, s.lens, s.lsel)
    compare(what, p, (dq, dk, dv), k, v, mask)
    compare(what + "_list", p, (dq_list, dk, dv), k, v, mask)
    compare(what + "_packed", p, (dq_packed, dk, dv), k, v, mask)
    unseen = ~mask_any(p, mask)                              # keys that no query selected get exact zeros
    equal(f"{what}.unselected ({s})", dk[unseen.T], torch.zeros_like(dk[unseen.T]))
    equal(f"{what}.unselected ({s})", dv[unseen.T], torch.zeros_like(dv[unseen.T]))


def mask_any(p, mask):
    """[Hkv,T]: keys with at least one query."""
    parts = [mask(b, n, n).any(1) for b, n in enumerate(p.shape.lens)]
    return torch.cat(parts, 1)


def compression(p, infinite=False):
    """infinite: the gradient of one compressed token."""
    s = p.shape
    for w in (None, p.wk):
        x = p.k[0]
        dout = torch.randn(sum(p.counts), s.hkv, s.dim, generator=torch.Generator().manual_seed(3)).to(s.dtype)
        if infinite:
            dout[2, 0] = float("inf")
        rx, rw = leaf(x), leaf(p.wk)
        y = ref.compress(rx, None if w is None else rw, s.lens, s.l, s.d)
        want_x, want_w = grad(y, (rx, rw), dout.double())
        for bt in (16, 64):                      # tiles of few blocks, and of many
            dx = fresh(p.T, s.hkv, s.dim, dtype=s.dtype)
            launch("nsa/compress_bwd.py", "compress_bwd_dx", p.grid(bt), dout, dout if w is None else w, dx, p.cu, p.cu_cmp, p.B,
                   *strides(dout, dx), L=s.l, STRIDE=s.d, D=s.dim, DP=pow2(s.dim), CONV=int(w is not None), BT=bt)
            check(f"compress_bwd_dx BT={bt} ({s})", dx, want_x, LIMITS[s.dtype])
        if w is None or len(dout) == 0:
            continue
        grid = p.grid(4, len(dout))
        rows = grid[0] * grid[1]
        part, dw = fresh(rows, s.l * s.dim), fresh(s.l, s.dim)
        launch("nsa/compress_bwd.py", "compress_bwd_dw", grid, x, dout, part, p.cu, p.cu_cmp, p.B, *strides(x, dout), L=s.l,
               STRIDE=s.d, D=s.dim, DP=pow2(s.dim), BC=4)
        launch("nn/reduce_rows.py", "reduce_rows", (cdiv(s.l * s.dim, 64),), part, dw, rows, s.l * s.dim, BC=64)
        check(f"compress_bwd_dw ({s})", dw, want_w, 1e-5)


def gate(p, branches):
    s = p.shape
    for softmax, tau in ((1, 0.7), (0, 0.4)):
        gates, _ = p.combine(branches, softmax, tau)
        outs = [fresh(p.T, p.hq, s.vdim, dtype=s.dtype) for _ in range(3)]
        dlogits, delta = fresh(p.T, s.hkv, 3, dtype=s.dtype), fresh(3, p.T, p.hq)
        launch("nsa/gate_bwd.py", "gate_bwd", (cdiv(p.T, 16), s.hkv), p.do, *branches, gates, *outs, dlogits, delta, p.T,
               1.0 / tau, *strides(p.do, branches[0], gates, outs[0], dlogits), G=s.group, E=s.vdim, EP=pow2(s.vdim),
               SOFTMAX=softmax, BT=16)
        logits, bs = leaf(p.logits), [leaf(x) for x in branches]
        o = ref.combine(bs, ref.gates(logits, softmax, tau))
        want = torch.autograd.grad(o, (*bs, logits), p.do.double())
        for c in range(3):
            check(f"gate_bwd.branch ({s})", outs[c], want[c], LIMITS[s.dtype])
            check(f"gate_bwd.delta ({s})", delta[c], (want[c] * bs[c]).sum(-1), 1e-5)
        check(f"gate_bwd.dlogits ({s})", dlogits, want[3], LIMITS[s.dtype])


def backward(shape):
    p, s = Problem(shape, seed=1), shape
    branches = []
    for dense in (False, True):
        o, lse = p.window(dense)
        path, stem, extra = ("dense/attn_bwd.py", "dense", {}) if dense else ("nsa/window_bwd.py", "window", dict(W=s.w))
        delta = delta_of(p, o)
        got = gradients(p, path, stem, p.k[2], p.v[2], lse, delta, **extra)
        mask = ref.causal_mask(s.hkv) if dense else ref.window_mask(s.hkv, s.w)
        compare(stem + "_bwd", p, got, p.k[2], p.v[2], mask)
        if not p.heads["DT"] and p.T:
            ordered = in_order(p, path.replace(".py", "_ordered.py"), stem, p.k[2], p.v[2], lse, delta, **extra)
            compare(stem + "_bwd_ordered", p, ordered, p.k[2], p.v[2], mask)
        if dense and not p.heads["DT"]:
            for shares in (1, 3):
                compare("dense_bwd", p, in_one_pass(p, p.k[2], p.v[2], lse, delta, shares), p.k[2], p.v[2], mask)
        if not dense:
            branches.append(o)

    kc, vc = p.compress(p.k[0], None), p.compress(p.v[0], None)
    o, lse = p.compressed(kc, vc)
    delta, dq = delta_of(p, o), fresh(p.T, p.hq, s.dim, dtype=s.dtype)
    launch("nsa/cmp_bwd.py", "cmp_bwd_dq", p.grid_rows(), *rows(p.q, kc, vc, p.do, lse, delta, dq), p.cu, p.cu_cmp, p.scale, p.B, G=s.group,
           L=s.l, STRIDE=s.d, **p.heads, **p.tiles)
    for parts in (1, 3):                         # parts of sequences of more than 24 tokens
        compare("cmp_bwd", p, (dq, *compressed_dkdv(p, kc, vc, lse, delta, 24, parts)[:2]), kc, vc,
                ref.compressed_mask(s.hkv, s.l, s.d), p.counts)
        if not p.heads["DT"] and p.T:
            compare("cmp_bwd_ordered", p, compressed_in_order(p, kc, vc, lse, delta, 24, parts), kc, vc, ref.compressed_mask(s.hkv, s.l, s.d), p.counts)
    branches.append(o)

    idx, _ = p.select(kc, lse)
    selected(p, idx, "select_bwd")
    branches.append(p.selected(idx, "select_list_fwd")[0])
    lonely = torch.where(torch.arange(p.T)[None, :, None] % 3 == 0, idx, -1)     # most rows and some blocks unselected
    lonely[..., 1:] = -1
    selected(p, lonely, "select_bwd.lonely")

    compression(p)
    gate(p, branches)


@each_shape
def test_backward(shape):
    backward(shape)


def test_an_infinite_gradient_reaches_its_block_only():
    for length, stride in ((6, 4), (8, 4), (4, 4), (10, 4)):
        compression(Problem(Shape([35, 5], group=1, l=length, d=stride)), infinite=True)
