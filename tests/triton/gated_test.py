# tests/triton/gated_test.py - the backward of three gated branches as nsa_attention runs it: gates in lse, dq accumulated in place.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import torch

from cases import SHAPES, Problem, numbered, rows, strides
from launcher import LIMITS, cdiv, check, dot_limit, equal, fresh, launch, pow2
from inverse import chunk_tokens, inverse_index, selected_dkdv
from parts import compressed_dkdv
import reference as ref


def leaf(x):
    return x.detach().double().requires_grad_()


def compressed_pair(p, filters):
    """Compressed keys and values by one launch."""
    s, rows = p.shape, sum(p.counts)
    kc, vc = fresh(rows, s.hkv, s.dim, dtype=s.dtype), fresh(rows, s.hkv, s.vdim, dtype=s.dtype)
    k, v, (wk, wv) = p.k[0], p.v[0], filters
    tiles, heads = p.grid(4, rows)
    launch("nsa/compress_fwd.py", "compress_pair_fwd", (tiles, 2 * heads), k, v, k if wk is None else wk, v if wv is None else wv, kc, vc,
           p.cu, p.cu_cmp, p.B, *strides(k, v, kc, vc), **sizes(s), KCONV=int(wk is not None), VCONV=int(wv is not None), BC=4)
    return kc, vc


def sizes(s):
    return dict(L=s.l, STRIDE=s.d, D=s.dim, DP=pow2(s.dim), E=s.vdim, EP=pow2(s.vdim))


def compression(p, filters):
    s, (wk, wv) = p.shape, filters
    kc, vc = compressed_pair(p, filters)
    equal(f"compress_pair_fwd.keys ({s})", kc, p.compress(p.k[0], wk))           # the bits of one launch each
    equal(f"compress_pair_fwd.values ({s})", vc, p.compress(p.v[0], wv))
    generator = torch.Generator().manual_seed(3)
    dkc, dvc = (torch.randn(x.shape, generator=generator).to(s.dtype) for x in (kc, vc))
    for bt in (16, 64):                          # tiles of few blocks, and of many
        dk, dv = fresh(p.T, s.hkv, s.dim, dtype=s.dtype), fresh(p.T, s.hkv, s.vdim, dtype=s.dtype)
        tiles, heads = p.grid(bt)
        launch("nsa/compress_bwd.py", "compress_pair_bwd_dx", (tiles, 2 * heads), dkc, dvc, dkc if wk is None else wk,
               dvc if wv is None else wv, dk, dv, p.cu, p.cu_cmp, p.B, *strides(dkc, dvc, dk, dv), **sizes(s),
               KCONV=int(wk is not None), VCONV=int(wv is not None), BT=bt)
        for name, x, w, grad, got in (("dk", p.k[0], wk, dkc, dk), ("dv", p.v[0], wv, dvc, dv)):
            x = leaf(x)
            y = ref.compress(x, w if w is None else w.double(), s.lens, s.l, s.d)
            want = torch.autograd.grad(y, x, grad.double())[0] if y.requires_grad else torch.zeros_like(x)
            check(f"compress_pair_bwd_dx.{name} BT={bt} ({s})", got, want, LIMITS[s.dtype])


def gate_rows(p, branches, lses, gates, softmax, tau):
    """lse less ln(gate) and delta of each branch, and the gradient of the logits."""
    s, count = p.shape, p.T * p.hq
    plane = cdiv(count, 16) * 16
    lse, delta, dlogits = fresh(3 * plane), fresh(3 * plane), fresh(p.T, s.hkv, 3, dtype=s.dtype)
    launch("nsa/gate_bwd.py", "gate_bwd_rows", (cdiv(p.T, 16), s.hkv), p.do, *branches, *[x.contiguous() for x in lses], gates, dlogits, lse,
           delta, p.T, 1.0 / tau, plane, *strides(p.do, branches[0], gates, dlogits), G=s.group, E=s.vdim, EP=pow2(s.vdim), SOFTMAX=softmax,
           BT=16)
    for x in (lse, delta):                                   # between the branches nothing is written
        rest = torch.cat([x[i * plane + count:(i + 1) * plane] for i in range(3)])
        equal(f"gate_bwd_rows.rest ({s})", rest.isnan().float(), torch.ones_like(rest))
    rows = lambda x: [x[i * plane:i * plane + count].view(p.T, p.hq) for i in range(3)]
    return rows(lse), rows(delta), dlogits


def backward(p, branches, lses, idx, kc, vc, softmax, tau):
    """(dq by each kernel of the selected branch, dk and dv of each branch, dlogits): dq of the branches one after the other into one tensor."""
    s = p.shape
    gates, _ = p.combine(branches, softmax, tau)
    lse, delta, dlogits = gate_rows(p, branches, lses, gates, softmax, tau)
    dq, pairs = fresh(p.T, p.hq, s.dim, dtype=s.dtype), []

    launch("nsa/cmp_bwd.py", "cmp_bwd_dq", p.grid_rows(), *rows(p.q, kc, vc, p.do, lse[0], delta[0], dq), p.cu, p.cu_cmp, p.scale, p.B,
           G=s.group, L=s.l, STRIDE=s.d, **p.heads, **p.tiles, ACCUMULATE=0)
    parts = compressed_dkdv(p, kc, vc, lse[0], delta[0], 24, 3, add_up=False)      # the selected branch's launch adds up both
    pairs.append(parts[:2])
    ways = {"list": (p.list_dq, dq)}
    if softmax:                                  # once for each shape: gates change lse and delta alone
        ways.update(token=(p.token_dq, dq.clone()), packed=(p.packed_dq, dq.clone()))
    for kernel, sums in ways.values():
        kernel(idx, p.do, lse[1], delta[1], sums, ACCUMULATE=1)
    pairs.append(selected_dkdv(p, inverse_index(p, idx), lse[1], delta[1], chunk_tokens(p), also=parts)[:2])
    k, v = p.k[2], p.v[2]
    dk, dv = fresh(p.T, s.hkv, s.dim, dtype=s.dtype), fresh(p.T, s.hkv, s.vdim, dtype=s.dtype)
    given, tile = (p.cu, p.scale, p.B), dict(G=s.group, W=s.w, **p.heads, **p.tiles)
    for _, sums in ways.values():
        launch("nsa/window_bwd.py", "window_bwd_dq", p.grid_rows(), *rows(p.q, k, v, p.do, lse[2], delta[2], sums), *given, **tile, ACCUMULATE=1)
    launch("nsa/window_bwd.py", "window_bwd_dkdv", p.grid(s.bn)[::-1], *rows(p.q, k, v, p.do, lse[2], delta[2], dk, dv), *given, **tile)
    pairs.append((dk, dv))
    return {name: sums for name, (_, sums) in ways.items()}, pairs, dlogits


def reference(p, idx, kc, vc, softmax, tau):
    """Gradients of q, of keys and values of the three branches, and of the logits, in fp64."""
    s = p.shape
    q, logits = leaf(p.q), leaf(p.logits)
    k, v = [leaf(x) for x in (kc, p.k[1], p.k[2])], [leaf(x) for x in (vc, p.v[1], p.v[2])]
    masks = (ref.compressed_mask(s.hkv, s.l, s.d), ref.selected_mask(idx, s.lens, s.lsel), ref.window_mask(s.hkv, s.w))
    outs = [ref.attention(q, k[i], v[i], s.lens, masks[i], p.scale, p.counts if i == 0 else None)[0] for i in range(3)]
    ref.combine(outs, ref.gates(logits, softmax, tau)).backward(p.do.double())
    zero = lambda x: torch.zeros_like(x) if x.grad is None else x.grad
    return zero(q), [(zero(a), zero(b)) for a, b in zip(k, v)], zero(logits)


def gated(shape):
    p, s = Problem(shape, seed=4), shape
    for filters in ((None, None), (p.wk, p.wv), (None, p.wv)):
        compression(p, filters)
    kc, vc = compressed_pair(p, (None, None))
    oc, lc = p.compressed(kc, vc)
    idx, _ = p.select(kc, lc)
    (os, ls), (ow, lw) = p.selected(idx, "select_list_fwd"), p.window()
    for softmax, tau in ((1, 0.7), (0, 0.4)):
        if not softmax:
            p.logits[1::3, :, 1] = -200.0                    # a gate of exactly zero
        sums, pairs, dlogits = backward(p, (oc, os, ow), (lc, ls, lw), idx, kc, vc, softmax, tau)
        want_q, want, want_logits = reference(p, idx, kc, vc, softmax, tau)
        for name, dq in sums.items():
            check(f"gated.dq by {name} ({s})", dq, want_q, dot_limit(s.dtype))
        for name, got, expected in zip(("cmp", "sel", "win"), pairs, want):
            check(f"gated.{name}.dk ({s})", got[0], expected[0], dot_limit(s.dtype))
            check(f"gated.{name}.dv ({s})", got[1], expected[1], dot_limit(s.dtype))
        check(f"gated.dlogits ({s})", dlogits, want_logits, LIMITS[s.dtype])


@numbered(SHAPES, range(0, len(SHAPES), 2))     # slow_shapes_test.py has the others
def test_gated(shape):
    gated(shape)
