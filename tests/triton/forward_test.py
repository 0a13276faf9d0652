# tests/triton/forward_test.py - every forward NSA and dense kernel under Triton's interpreter against fp64.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import torch

from harness import LIMITS, check, equal, finish
import reference as ref
from cases import Problem, chosen


def forward(shape):
    p, s, tag = Problem(shape), shape, f"({shape})"
    limit = LIMITS[s.dtype]
    wide = lambda x: x.double()
    q = wide(p.q)

    for w in (None, p.wk):
        kc = p.compress(p.k[0], w)
        check(f"compress_fwd {tag}", kc, ref.compress(wide(p.k[0]), w if w is None else wide(w), s.lens, s.l, s.d), limit)
    kc, vc = p.compress(p.k[0], None), p.compress(p.v[0], None)

    o, lse = p.compressed(kc, vc)
    want, want_lse, probs = ref.attention(q, wide(kc), wide(vc), s.lens, ref.compressed_mask(s.hkv, s.l, s.d), p.scale,
                                          p.counts)
    check(f"cmp_fwd {tag}", o, want, limit)
    check(f"cmp_fwd.lse {tag}", lse, want_lse, 1e-5)
    oc = o

    idx, score = p.select(kc, lse)
    check(f"score_select.scores {tag}", score, ref.scores(probs, s.lens, s.group, s.l, s.d, s.lsel), 1e-5)
    equal(f"score_select.indices {tag}", idx, ref.select_all(score, s.lens, s.lsel, s.n))
    for bt, bj in ((16, 16), (4, 2)):                        # the tile shape must not change the selection
        equal(f"score_select.tiles {tag}", p.select(kc, lse, store=0, bt=bt, bj=bj)[0], idx)

    got = p.ranges(idx)
    want = torch.zeros_like(got)
    for h in range(s.hkv):
        for a, z in ref.spans(s.lens):
            for t in range(z - a):
                for r, (begin, end) in enumerate(ref.ranges_of([j for j in idx[h, a + t].tolist() if j >= 0], t, s.lsel)):
                    want[h, a + t, r] = torch.tensor([begin, end])
    equal(f"merge_ranges {tag}", got, want)

    want, want_lse, _ = ref.attention(q, wide(p.k[1]), wide(p.v[1]), s.lens, ref.selected_mask(idx, s.lens, s.lsel), p.scale)
    for tiled in (False, True):
        o, lse = p.selected(idx, tiled)
        check(f"select{'_tile' * tiled}_fwd {tag}", o, want, limit)
        check(f"select{'_tile' * tiled}_fwd.lse {tag}", lse, want_lse, 1e-5)
    os = o
    none = torch.full_like(idx, -1)                          # nothing selected: exact zeros, lse = -inf
    for tiled in (False, True):
        o, lse = p.selected(none, tiled)
        equal(f"select{'_tile' * tiled}_fwd.empty {tag}", o, torch.zeros_like(o))
        equal(f"select{'_tile' * tiled}_fwd.empty {tag}", lse, torch.full_like(lse, float("-inf")))

    for dense in (False, True):
        mask = ref.causal_mask(s.hkv) if dense else ref.window_mask(s.hkv, s.w)
        want, want_lse, _ = ref.attention(q, wide(p.k[2]), wide(p.v[2]), s.lens, mask, p.scale)
        o, lse = p.window(dense)
        check(f"{'dense' if dense else 'window'}_fwd {tag}", o, want, limit)
        check(f"{'dense' if dense else 'window'}_fwd.lse {tag}", lse, want_lse, 1e-5)
        ow = o if not dense else ow

    for softmax, tau in ((1, 1.0), (1, 0.7), (0, 1.0)):
        gates, o = p.combine([oc, os, ow], softmax, tau)
        want = ref.gates(wide(p.logits), softmax, tau)
        check(f"gate_fwd.gates {tag}", gates, want, 1e-5)
        check(f"gate_fwd {tag}", o, ref.combine([wide(oc), wide(os), wide(ow)], want), limit)


for shape in chosen():
    forward(shape)
finish()
