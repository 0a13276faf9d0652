# tests/triton/decode_test.py - attention of one token over a cache, its keys split, against fp64; the shares are summed in order.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import pytest
import torch

from cases import slices
from launcher import cdiv, check, dot_limit, equal, fresh, launch, pow2

STEP = 16   # keys of a step


def decode(q, k, v, first, last, splits, idx=None, lsel=0):
    """(o, lse, shares) of q [B, Hq, D] over k, v [B, Hkv, capacity, d]."""
    (batch, heads, dim), (key_heads, vdim) = q.shape, v.shape[1::2]
    group, selected = heads // key_heads, 0 if idx is None else idx.shape[2]
    all_steps = selected * cdiv(lsel, STEP) if lsel else cdiv(last - first, STEP)
    steps = cdiv(all_steps, splits)
    splits = cdiv(all_steps, steps)
    part, state = fresh(batch, key_heads, splits, group, vdim), fresh(batch, key_heads, splits, 2, group)
    o, lse = fresh(batch, heads, vdim, dtype=q.dtype), fresh(batch, heads)
    common = dict(G=group, GP=pow2(group), E=vdim, EP=pow2(vdim))
    launch("nsa/decode.py", "decode_split", (splits, key_heads, batch), q, k, v, torch.zeros(1, dtype=torch.int32) if idx is None else idx,
           part, state, dim ** -0.5, first, last, steps, *q.stride()[:2], *k.stride()[:3], *v.stride()[:3], LSEL=lsel, NSEL=selected,
           **slices(dim), BN=STEP, **common)
    launch("nsa/decode.py", "decode_combine", (key_heads, batch), part, state, o, lse, splits, *o.stride()[:2], **common)
    return o, lse, (part, state)


def reference(q, k, v, seen):
    """seen: bool [B, Hkv, capacity]."""
    group = q.shape[1] // k.shape[1]
    q, k, v, seen = q.double(), *(x.repeat_interleave(group, 1) for x in (k.double(), v.double(), seen))
    s = torch.where(seen, torch.einsum("bhd,bhtd->bht", q, k) * q.shape[2] ** -0.5, float("-inf"))
    lse = s.logsumexp(2)
    p = torch.where(seen, (s - torch.where(lse.isinf(), 0.0, lse)[..., None]).exp(), 0.0)
    return torch.einsum("bht,bhtd->bhd", p, torch.where(seen[..., None], v, 0.0)), lse


def in_order(name, o, lse, shares):
    """The bits of the shares, added one after the other in fp32."""
    (part, state), splits = shares, shares[0].shape[2]
    peak, total, acc = torch.full_like(state[:, :, 0, 0], float("-inf")), torch.zeros_like(state[:, :, 0, 0]), torch.zeros_like(part[:, :, 0])
    for i in range(splits):
        its_peak, its_total = state[:, :, i, 0], state[:, :, i, 1]
        top = torch.maximum(peak, its_peak)
        base = torch.where(top.isinf(), 0.0, top)
        shrink, grow = (peak - base).exp2(), (its_peak - base).exp2()
        total, acc, peak = total * shrink + its_total * grow, acc * shrink[..., None] + part[:, :, i] * grow[..., None], top
    want = acc / torch.where(total == 0, 1.0, total)[..., None]
    check(f"decode.order {name}", o, want.reshape(o.shape).double(), dot_limit(o.dtype))


# batch, key heads, group, head sizes, keys in the cache, first, last, blocks of so many, selected
@pytest.mark.parametrize("batch, hkv, group, dim, vdim, capacity, first, last, lsel, n, dtype", (
        (2, 2, 3, 32, 16, 90, 0, 77, 0, 0, torch.float32), (1, 1, 1, 16, 48, 40, 21, 38, 0, 0, torch.float32),
        (1, 2, 16, 192, 128, 70, 0, 70, 0, 0, torch.float16), (2, 1, 7, 48, 32, 130, 0, 101, 16, 5, torch.float32),
        (1, 2, 4, 64, 64, 100, 0, 91, 24, 3, torch.float32), (1, 1, 2, 16, 16, 33, 0, 1, 0, 0, torch.float32)))
def test_decode(batch, hkv, group, dim, vdim, capacity, first, last, lsel, n, dtype):
    generator = torch.Generator().manual_seed(dim + last)
    rand = lambda *shape: torch.randn(*shape, generator=generator).to(dtype)
    q, k, v = rand(batch, hkv * group, dim), rand(batch, hkv, capacity, dim), rand(batch, hkv, capacity, vdim)
    k[:, :, last:], v[:, :, last:] = float("nan"), float("nan")      # nothing after the last key is read
    place, idx = torch.arange(capacity).expand(batch, hkv, -1), None
    seen = (place >= first) & (place < last)
    if lsel:
        blocks = cdiv(last, lsel)
        idx = torch.stack([torch.cat([torch.randperm(blocks, generator=generator)[:n - 1].sort()[0], torch.tensor([-1])])
                           for _ in range(batch * hkv)]).to(torch.int32).view(batch, hkv, n)
        seen &= (place[..., None] // lsel == idx[:, :, None]).any(3)
    want, want_lse = reference(q, k, v, seen)
    name = f"(B={batch} Hkv={hkv} G={group} D={dim}/{vdim} keys {first}..{last} l'={lsel})"
    for splits in (1, 2, 3, 100):
        o, lse, shares = decode(q, k, v, first, last, splits, idx, lsel)
        check(f"decode.o {name} splits={splits}", o, want, dot_limit(dtype))
        check(f"decode.lse {name} splits={splits}", lse, want_lse, 1e-5)
        in_order(f"{name} splits={splits}", o, lse, shares)
        again = decode(q, k, v, first, last, splits, idx, lsel)
        equal(f"decode.again {name}", torch.cat([again[0].float().flatten(), again[1].flatten()]), torch.cat([o.float().flatten(), lse.flatten()]))
    if lsel:
        o, lse, _ = decode(q, k, v, first, last, 2, torch.full_like(idx, -1), lsel)        # nothing selected
        equal(f"decode.none {name}", o, torch.zeros_like(o))
        equal(f"decode.none {name}", lse, torch.full_like(lse, float("-inf")))
