# tests/python/custom_attention_test.py - kernels/tutorials/dilated_window.py from Python: the op with gradients, and a raw launch.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import os
import unittest

import torch

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


def error(got, want):
    return float((got.detach().double() - want.detach()).norm() / want.detach().norm())


class CustomAttention(unittest.TestCase):

    def call(self, q, k, v, cu, constexprs=f"W={W}, STEP={STEP}", bwd=BWD):
        return ops.custom_attention(q, k, v, cu, max(LENGTHS), FILE, FWD, bwd, constexprs)

    def test_values_and_gradients(self):
        tensors, cu = inputs()
        mine = [t.clone().requires_grad_() for t in tensors]
        wide = [t.double().requires_grad_() for t in tensors]
        o, lse = self.call(*mine, cu)
        want, sums = reference(*wide)
        self.assertLess(error(o, want), 1e-5)
        self.assertLess(error(lse, sums), 1e-5)
        weights = torch.randn(want.shape, generator=torch.Generator().manual_seed(4))
        more = torch.randn(sums.shape, generator=torch.Generator().manual_seed(5))
        got = torch.autograd.grad((o * weights).sum() + (lse * more).sum(), mine)
        expected = torch.autograd.grad((want * weights).sum() + (sums * more).sum(), wide)
        for name, a, b in zip("qkv", got, expected):
            self.assertLess(error(a, b), 1e-5, name)

    def test_raw_launch(self):
        (q, k, v), cu = inputs()
        T = sum(LENGTHS)
        o, lse = torch.full((T, H * G, E), float("nan")), torch.full((H * G, T), float("nan"))
        strides = [s for x in (q, k, v, o) for s in x.stride()[:2]]
        ops.launch(FILE, FWD, [q, k, v, o, lse, cu], [D ** -0.5, T, *strides], [-(-max(LENGTHS) * G // 32), H, len(LENGTHS)],
                   f"G={G}, W={W}, STEP={STEP}, D={D}, DP=16, E={E}, EP=32, BM=32, BN=16")
        want, sums = reference(q.double(), k.double(), v.double())
        self.assertLess(error(o, want), 1e-5)
        self.assertLess(error(lse, sums), 1e-5)

    def test_meta(self):
        (q, k, v), cu = inputs()
        o, lse = self.call(q.to("meta"), k.to("meta"), v.to("meta"), cu.to("meta"))
        self.assertEqual((o.shape, lse.shape), ((53, H * G, E), (H * G, 53)))

    def test_mistakes(self):
        (q, k, v), cu = inputs()
        for arguments, part in [(dict(constexprs="W=5, STEPS=3"), "STEPS"), (dict(constexprs="D=16"), "follows from the model"),
                                (dict(bwd="nothing"), "no kernel `nothing`")]:
            with self.assertRaisesRegex(Exception, part):
                self.call(q, k, v, cu, **arguments)
        q.requires_grad_()
        with self.assertRaisesRegex(Exception, "was given no backward"):
            self.call(q, k, v, cu, bwd="")[0].sum().backward()


if __name__ == "__main__":
    unittest.main()
