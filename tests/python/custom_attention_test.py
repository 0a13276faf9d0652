# tests/python/custom_attention_test.py - kernels/tutorials/dilated_window.py from Python: the op with gradients, and a raw launch.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import re
import tempfile

import gated_window
import pytest
import torch
from outliers import outlier_text
from repository import ROOT

torch.ops.load_library(os.environ["LIBTESSERA_TORCH"])
ops = torch.ops.tessera
FILE, FWD, BWD = "kernels/tutorials/dilated_window.py", "dilated_window", "dilated_window_bwd"
LENGTHS, H, G, D, E, W, STEP = [33, 0, 20], 2, 3, 16, 24, 5, 3


def reference(q, k, v):
    """fp64 attention under a mask, one sequence after the other."""
    outputs, sums, start = [], [], 0
    for length in LENGTHS:
        part = slice(start, start + length)
        start += length
        t = torch.arange(length)
        back = t[:, None] - t[None, :]
        seen = (back >= 0) & (back % STEP == 0) & (back < W * STEP)
        scores = torch.einsum("thd,shd->hts", q[part], k[part].repeat_interleave(G, 1)) / D ** 0.5
        scores = scores.masked_fill(~seen, float("-inf"))
        sums.append(scores.logsumexp(-1))
        outputs.append(torch.einsum("hts,she->the", scores.softmax(-1), v[part].repeat_interleave(G, 1)))
    return torch.cat(outputs), torch.cat(sums, 1)


def inputs():
    generator = torch.Generator().manual_seed(3)
    T = sum(LENGTHS)
    shapes = [(T, H * G, D), (T, H, D), (T, H, E)]
    return [torch.randn(s, generator=generator) for s in shapes], torch.tensor([0, 33, 33, 53], dtype=torch.int32)


LIMIT = 1e-5


def error(got, want):
    """Relative RMS error; infinite if a single element is off by more than rounding."""
    if outlier_text(got, want, LIMIT):
        return float("inf")
    return float((got.detach().double() - want.detach()).norm() / want.detach().norm())


def call(q, k, v, cu, constexprs=f"W={W}, STEP={STEP}", bwd=BWD):
    return ops.custom_attention(q, k, v, cu, max(LENGTHS), FILE, FWD, bwd, constexprs)


def test_values_and_gradients():
    tensors, cu = inputs()
    mine = [t.clone().requires_grad_() for t in tensors]
    wide = [t.double().requires_grad_() for t in tensors]
    o, lse = call(*mine, cu)
    want, sums = reference(*wide)
    assert error(o, want) < LIMIT
    assert error(lse, sums) < LIMIT
    weights = torch.randn(want.shape, generator=torch.Generator().manual_seed(4))
    more = torch.randn(sums.shape, generator=torch.Generator().manual_seed(5))
    got = torch.autograd.grad((o * weights).sum() + (lse * more).sum(), mine)
    expected = torch.autograd.grad((want * weights).sum() + (sums * more).sum(), wide)
    for name, a, b in zip("qkv", got, expected):
        assert error(a, b) < LIMIT, name


def test_learned_gate():
    tensors, cu = inputs()
    # Not contiguous, as a slice of a larger projection is not.
    tensors.append(torch.randn(sum(LENGTHS), 1, 2 * H * G, generator=torch.Generator().manual_seed(6))[:, :, :H * G])
    with tempfile.TemporaryDirectory() as folder:
        file = folder + "/gated.py"
        pathlib.Path(file).write_text(gated_window.text())

        def call(gates, names="GATE", bwd=BWD):
            return ops.custom_attention(*mine[:3], cu, max(LENGTHS), file, FWD, bwd, f"W={W}, STEP={STEP}", None, gates, names)

        mine = [t.clone().requires_grad_() for t in tensors]
        wide = [t.double().requires_grad_() for t in tensors]
        o, lse = call(mine[3])
        want, sums = reference(*wide[:3])
        want = want * wide[3][:, 0].sigmoid()[:, :, None]
        assert error(o, want) < LIMIT
        weights = torch.randn(want.shape, generator=torch.Generator().manual_seed(4))
        got = torch.autograd.grad((o * weights).sum(), mine)
        expected = torch.autograd.grad((want * weights).sum(), wide)
        for name, a, b in zip(["q", "k", "v", "gate"], got, expected):
            assert error(a, b) < LIMIT, name
        # One tensor that needs no gradient.
        mine[3] = mine[3].detach()
        assert error(torch.autograd.grad((call(mine[3])[0] * weights).sum(), mine[:1])[0], expected[0]) < LIMIT
        for gates, names, bwd, part in [
                (None, "GATE", BWD, "learned and learned_names go together"), (mine[3][:, :, 1:], "GATE", BWD, "for each token, name and query"),
                (mine[3].double(), "GATE", BWD, "float32"), (mine[3], "GAIN", BWD, "has a parameter `GATE` that nothing"),
                (mine[3], "GATE, GATE", BWD, "passed already"), (mine[3], "DO", BWD, "passed already"),
                (mine[3], "gate", BWD, "names in capitals"), (None, "", BWD, "has a parameter `GATE` that nothing is passed for"),
                (mine[3], "GATE", "dilated_window_bwd_dkdv", "0 backward kernels of `dilated_window` write DQ")]:
            with pytest.raises(Exception, match=part):
                call(gates, names, bwd)


def test_key_heads_in_two_slices():
    """A kernel with DT gets D as DP and DT columns, 40 as 32 and 16; one without gets DP = 64."""
    generator, T = torch.Generator().manual_seed(8), sum(LENGTHS)
    q, k, v = (torch.randn(s, generator=generator) for s in [(T, H * G, 40), (T, H, 40), (T, H, E)])
    cu = torch.tensor([0, 33, 33, 53], dtype=torch.int32)
    want, sums = reference(q.double() * (D / 40) ** 0.5, k.double(), v.double())
    helpers, begin, kernel = re.sub(r"# tessera: instance.*\n", "", (ROOT / FILE).read_text()).partition("def dilated_window(")
    one = kernel.replace("    slope = scale", "    tl.static_assert(DP == 64)\n    slope = scale", 1)
    two = kernel
    for old, new in [("DP: tl.constexpr,", "DP: tl.constexpr, DT: tl.constexpr,"),
                     ("head * sqh, D, DP)\n    slope", "head * sqh, DP, DP)\n    q2 = load_rows(Q + token0 * sqt + group * G * sqh "
                      "+ DP, (t - t0) * sqt + head * sqh, D - DP, DT)\n    slope"),
                     ("key * skt, D, DP)\n        v =", "key * skt, DP, DP)\n        k2 = load_rows(K + key0 * skt + group * skh + DP, "
                      "key * skt, D - DP, DT)\n        v ="),
                     ("tl.dot(q, tl.trans(k)) * slope, float", "tl.dot(q2, tl.trans(k2), tl.dot(q, tl.trans(k))) * slope, float"),
                     ("    slope = scale", "    tl.static_assert(DP == 32)\n    tl.static_assert(DT == 16)\n    slope = scale")]:
        assert old in two
        two = two.replace(old, new, 1)
    with tempfile.TemporaryDirectory() as folder:
        for name, text in [("one", one), ("two", two)]:
            file = f"{folder}/{name}.py"
            pathlib.Path(file).write_text(helpers + begin + text)
            o, lse = ops.custom_attention(q, k, v, cu, max(LENGTHS), file, FWD, "", f"W={W}, STEP={STEP}")
            assert error(o, want) < LIMIT, name
            assert error(lse, sums) < LIMIT, name
        with pytest.raises(Exception, match="constexprs sets `DT`"):
            ops.custom_attention(q, k, v, cu, max(LENGTHS), file, FWD, "", f"W={W}, STEP={STEP}, DT=16")


def test_raw_launch():
    (q, k, v), cu = inputs()
    T = sum(LENGTHS)
    o, lse = torch.full((T, H * G, E), float("nan")), torch.full((H * G, T), float("nan"))
    strides = [s for x in (q, k, v, o) for s in x.stride()[:2]]
    ops.launch(FILE, FWD, [q, k, v, o, lse, cu], [D ** -0.5, T, *strides], [-(-max(LENGTHS) * G // 32), H, len(LENGTHS)],
               f"G={G}, W={W}, STEP={STEP}, D={D}, DP=16, E={E}, EP=32, BM=32, BN=16")
    want, sums = reference(q.double(), k.double(), v.double())
    assert error(o, want) < LIMIT
    assert error(lse, sums) < LIMIT


def test_meta():
    (q, k, v), cu = inputs()
    o, lse = call(q.to("meta"), k.to("meta"), v.to("meta"), cu.to("meta"))
    assert (o.shape, lse.shape) == ((53, H * G, E), (H * G, 53))


def test_mistakes():
    (q, k, v), cu = inputs()
    for arguments, part in [(dict(constexprs="W=5, STEPS=3"), "STEPS"), (dict(constexprs="D=16"), "follows from the model"),
                            (dict(bwd="nothing"), "no kernel `nothing`")]:
        with pytest.raises(Exception, match=part):
            call(q, k, v, cu, **arguments)
    q.requires_grad_()
    with pytest.raises(Exception, match="was given no backward"):
        call(q, k, v, cu, bwd="")[0].sum().backward()
