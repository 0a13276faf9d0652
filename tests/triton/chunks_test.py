# tests/triton/chunks_test.py - dk and dv of selected attention from chunks of inverse lists: any chunk, any distribution of indices.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import pytest
import torch

from cases import Problem, Shape
from launcher import check, dot_limit, equal
from inverse import inverse_index, selected_dkdv
import reference as ref


def picks(p, choose):
    """int32 [Hkv, T, n] of choose(t, own block): ascending, -1 after the last."""
    s = p.shape
    idx = torch.full((s.hkv, p.T, s.n), -1, dtype=torch.int32)
    for h in range(s.hkv):
        for a, z in ref.spans(s.lens):
            for t in range(z - a):
                blocks = sorted({b for b in choose(t, t // s.lsel) if 0 <= b <= t // s.lsel})[-s.n:]
                idx[h, a + t, :len(blocks)] = torch.tensor(blocks, dtype=torch.int32)
    return idx


def distributions(p, generator):
    n, draw = p.shape.n, lambda own: torch.randperm(own + 1, generator=generator)
    yield "sink", picks(p, lambda t, own: [0])                   # one list has every token, all others are empty
    yield "local", picks(p, lambda t, own: range(own - n + 1, own + 1))
    yield "random", picks(p, lambda t, own: draw(own)[:n].tolist())
    yield "sparse", picks(p, lambda t, own: draw(own)[:t % (n + 1)].tolist() if t % 5 else [])
    yield "nothing", picks(p, lambda t, own: [])


def gradients(p, idx, lse, delta):
    """dk and dv in fp64 by the formula of docs/nsa.md, with lse and delta as given."""
    s, dk, dv = p.shape, torch.zeros(p.k[1].shape, dtype=torch.float64), torch.zeros(p.v[1].shape, dtype=torch.float64)
    mask = ref.selected_mask(idx, s.lens, s.lsel)
    for b, (a, z) in enumerate(ref.spans(s.lens)):
        seen = mask(b, z - a, z - a)
        for head in range(p.hq):
            h = head // s.group
            q, do, k, v = (x[a:z, i].double() for x, i in ((p.q, head), (p.do, head), (p.k[1], h), (p.v[1], h)))
            prob = torch.where(seen[h], (p.scale * q @ k.T - lse[a:z, head, None]).exp(), 0.0)
            dv[a:z, h] += prob.T @ do
            dk[a:z, h] += p.scale * (prob * (do @ v.T - delta[a:z, head, None])).T @ q
    return dk, dv


def ordered(name, p, inverse, chunk, dk, dv, part):
    """A cut list's gradients have the bits of its chunks, added in ascending order in fp32."""
    s, ptr = p.shape, inverse[0]
    for h in range(s.hkv):
        for b, (a, z) in enumerate(ref.spans(s.lens)):
            for j in range((z - a + s.lsel - 1) // s.lsel):
                block = a // s.lsel + b + j
                chunks = (int(ptr[h, block + 1] - ptr[h, block]) + chunk - 1) // chunk
                if chunks < 2:
                    continue
                first, keys = int(ptr[h, block]) // chunk + block, slice(a + j * s.lsel, min(a + (j + 1) * s.lsel, z))
                sums = part[h, first].clone()
                for i in range(1, chunks):
                    sums += part[h, first + i]
                sums = sums[:keys.stop - keys.start]
                equal(f"chunks.order {name}", dk[keys, h], sums[:, :s.dim] * torch.tensor(p.scale, dtype=torch.float32))
                equal(f"chunks.order {name}", dv[keys, h], sums[:, s.dim:])


def compare(p, what, idx, lse, delta, chunks, exact):
    """`exact`: sums in any order have the same bits, so that chunks change nothing."""
    inverse, want, first = inverse_index(p, idx), gradients(p, idx, lse.double(), delta.double()), None
    counts = inverse[0].diff(dim=1)
    mask = ref.selected_mask(idx, p.shape.lens, p.shape.lsel)
    nobody = torch.cat([~mask(b, n, n).any(1) for b, n in enumerate(p.shape.lens)], 1).T
    for chunk in chunks:
        dk, dv, part = selected_dkdv(p, inverse, lse, delta, chunk)
        name = f"({p.shape} {what} CHUNK={chunk})"
        for gradient, got, expected in zip(("dk", "dv"), (dk, dv), want):
            check(f"chunks.{gradient} {name}", got, expected, dot_limit(p.shape.dtype))
            equal(f"chunks.unselected {name}", got[nobody], torch.zeros_like(got[nobody]))
        # Lists of one chunk leave the scratch memory alone, longer ones write each of their chunks.
        written = (~part.isnan().all(3).all(2)).sum(1)
        equal(f"chunks.scratch {name}", written, torch.where(counts > chunk, (counts + chunk - 1) // chunk, 0).sum(1))
        first = first or (dk, dv)
        if exact:
            equal(f"chunks.bits {name}", dk, first[0])
            equal(f"chunks.bits {name}", dv, first[1])
        else:
            ordered(name, p, inverse, chunk, dk, dv, part)
            equal(f"chunks.again {name}", torch.cat(selected_dkdv(p, inverse, lse, delta, chunk)[:2], 2), torch.cat((dk, dv), 2))


# Empty and short sequences between; the last block of a sequence is cut or missing. Each shape has some of the distributions.
SHAPES = ((1, 16, 16, 8, 4, 16, 16, "random sink"), (2, 16, 16, 16, 3, 40, 16, "local nothing"), (4, 16, 32, 33, 2, 32, 16, "sink sparse"),
          (6, 32, 16, 8, 5, 16, 24, "local random"), (7, 64, 16, 7, 6, 16, 16, "sparse sink"), (16, 64, 16, 16, 3, 48, 32, "random sink"))


@pytest.mark.parametrize("group, bm, bn, lsel, n, dim, vdim, kinds", SHAPES)
def test_chunks(group, bm, bn, lsel, n, dim, vdim, kinds):
    generator = torch.Generator().manual_seed(11)
    shape = Shape([0, 39, 0, 0, 1, 16, 0], hkv=2 if group == 2 else 1, group=group, dim=dim, vdim=vdim, lsel=lsel, n=n, bm=bm, bn=bn)
    p, exact = Problem(shape), Problem(shape)
    values = exact.exact(generator)
    for what, idx in distributions(p, generator):
        if what not in kinds:
            continue
        o, lse, _ = ref.attention(p.q.double(), p.k[1].double(), p.v[1].double(), shape.lens, ref.selected_mask(idx, shape.lens, lsel), p.scale)
        compare(p, what, idx, lse.T.float().contiguous(), (o * p.do.double()).sum(-1).float(), (8,), exact=False)
        compare(exact, what + " exact", idx, *values, (1 << 20, 8, 3), exact=True)
