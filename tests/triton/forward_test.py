# tests/triton/forward_test.py - every forward NSA and dense kernel under Triton's interpreter against fp64.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import torch

from launcher import LIMITS, check, check_any, dot_limit, equal, readings
import reference as ref
from cases import Problem, Shape, each_shape


def attention(what, p, got, k, v, mask, key_lens=None):
    """Compares o and lse; returns the probabilities, for each way in which a dot may read q and k. Results that depend
    on q and k alone have only fp32 arithmetic after those products."""
    (o, lse), s = got, p.shape
    wants = [ref.attention(read(p.q), read(k), v.double(), s.lens, mask, p.scale, key_lens) for read in readings(s.dtype)]
    check(f"{what} ({s})", o, wants[0][0], dot_limit(s.dtype))
    check_any(f"{what}.lse ({s})", lse.T, [want[1] for want in wants], 1e-5)
    return [want[2] for want in wants]


def forward(shape):
    p, s, tag = Problem(shape), shape, f"({shape})"
    limit = LIMITS[s.dtype]
    wide = lambda x: x.double()

    for w in (None, p.wk):
        kc = p.compress(p.k[0], w)
        check(f"compress_fwd {tag}", kc, ref.compress(wide(p.k[0]), w if w is None else wide(w), s.lens, s.l, s.d), limit)
    kc, vc = p.compress(p.k[0], None), p.compress(p.v[0], None)

    oc, lse = p.compressed(kc, vc)
    probs = attention("cmp_fwd", p, (oc, lse), kc, vc, ref.compressed_mask(s.hkv, s.l, s.d), p.counts)

    idx, score = p.select(kc, lse)
    check_any(f"score_select.scores {tag}", score, [ref.scores(x, s.lens, s.group, s.l, s.d, s.lsel) for x in probs], 1e-5)
    equal(f"score_select.indices {tag}", idx, ref.select_all(score, s.lens, s.lsel, s.n))
    for bt, bj in ((16, 16), (4, 2)):                        # the tile shape must not change the selection
        equal(f"score_select.tiles {tag}", p.select(kc, lse, store=0, bt=bt, bj=bj)[0], idx)

    one = p.sweep(kc, vc)                                    # the same in one launch
    probs = attention("cmp_select_fwd", p, one[:2], kc, vc, ref.compressed_mask(s.hkv, s.l, s.d), p.counts)
    check_any(f"cmp_select_fwd.scores {tag}", one[3], [ref.scores(x, s.lens, s.group, s.l, s.d, s.lsel) for x in probs], 1e-5)
    equal(f"cmp_select_fwd.indices {tag}", one[2], ref.select_all(one[3], s.lens, s.lsel, s.n))
    equal(f"cmp_select_fwd.tiles {tag}", p.sweep(kc, vc, store=0, bc=32, programs=3, walk=0)[2], one[2])

    got = p.ranges(idx)
    want = torch.zeros_like(got)
    for h in range(s.hkv):
        for a, z in ref.spans(s.lens):
            for t in range(z - a):
                for r, (begin, end) in enumerate(ref.ranges_of([j for j in idx[h, a + t].tolist() if j >= 0], t, s.lsel)):
                    want[h, a + t, r] = torch.tensor([begin, end])
    equal(f"merge_ranges {tag}", got, want)

    for kernel in ("select_fwd", "select_packed_fwd", "select_list_fwd"):
        os, lse = p.selected(idx, kernel)
        attention(kernel, p, (os, lse), p.k[1], p.v[1], ref.selected_mask(idx, s.lens, s.lsel))
    k, v = p.packed_blocks()                                 # after the end of a sequence its last block is zero
    for b, n in enumerate(s.lens):
        if n % s.lsel:
            last = sum(s.lens[:b]) // s.lsel + b + n // s.lsel
            rest = torch.cat([k[:, last, :, n % s.lsel:].flatten(), v[:, last, n % s.lsel:].flatten()])
            equal(f"pack_keys.tail {tag}", rest, torch.zeros_like(rest))
    none = torch.full_like(idx, -1)                          # nothing selected: exact zeros, lse = -inf
    for kernel in ("select_fwd", "select_packed_fwd", "select_list_fwd"):
        o, lse = p.selected(none, kernel)
        equal(f"{kernel}.empty {tag}", o, torch.zeros_like(o))
        equal(f"{kernel}.empty {tag}", lse, torch.full_like(lse, float("-inf")))

    for dense in (False, True):
        mask = ref.causal_mask(s.hkv) if dense else ref.window_mask(s.hkv, s.w)
        o, lse = p.window(dense)
        attention("dense_fwd" if dense else "window_fwd", p, (o, lse), p.k[2], p.v[2], mask)
        if not dense:
            ow = o

    for softmax, tau in ((1, 1.0), (1, 0.7), (0, 1.0), (0, 0.4)):
        gates, o = p.combine([oc, os, ow], softmax, tau)
        want = ref.gates(wide(p.logits), softmax, tau)
        check(f"gate_fwd.gates {tag}", gates, want, 1e-5)
        check(f"gate_fwd {tag}", o, ref.combine([wide(oc), wide(os), wide(ow)], want), limit)


@each_shape
def test_forward(shape):
    forward(shape)


def test_infinite_tokens_reach_their_blocks_only():
    for length, stride in ((6, 4), (8, 4), (4, 4), (10, 4)):
        p = Problem(Shape([35, 5], group=1, l=length, d=stride))
        p.k[0][[10, 18]] = float("inf")
        for w in (None, p.wk):
            want = ref.compress(p.k[0].double(), w if w is None else w.double(), p.shape.lens, length, stride)
            check(f"compress_fwd l={length}", p.compress(p.k[0], w), want, LIMITS[p.shape.dtype])
