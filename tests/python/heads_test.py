# tests/python/heads_test.py - attention ops on a simulated GPU over head sizes: every promised one has a forward and a backward.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import os

import nsa_reference as ref
import outliers
import torch

torch.ops.load_library(os.environ["LIBTESSERA_TORCH"])
ops = torch.ops.tessera

# Key and value head sizes, types, query heads of a key head. fp32 above 128 takes most shared memory.
HEADS = [(256, 256, torch.float32, 2), (160, 256, torch.float32, 1), (192, 128, torch.float32, 3), (16, 256, torch.float32, 2),
         (256, 256, torch.bfloat16, 2), (160, 160, torch.float16, 2), (16, 16, torch.float32, 2)]
LARGE_GROUP = [(256, 256, torch.float32, 48), (256, 256, torch.bfloat16, 48)]
LIMITS = {torch.float32: 2e-3, torch.bfloat16: 5e-3, torch.float16: 1e-3}
LENGTH, STRIDE, BLOCK, SELECTED, WINDOW = 16, 8, 16, 2, 9


class TestHeads:
    """Outputs and gradients against fp64 (relative RMS error, docs/numerics.md): fp32 with tf32 products, as users have them."""

    def setup_method(self):
        self.packing = ref.Packing([60, 41])

    def check(self, name, run, want, leaves):
        copies = [x.detach().double().requires_grad_() for x in leaves]
        got, right = run(*leaves), want(*copies)
        weights = torch.randn(right.shape, generator=torch.Generator().manual_seed(5)).to(leaves[0].dtype)
        gradients = torch.autograd.grad((got * weights).sum(), leaves)
        wanted = torch.autograd.grad((right * weights.double()).sum(), copies)
        limit = LIMITS[leaves[0].dtype]
        for what, a, b in zip(("output", "dq", "dk", "dv"), (got, *gradients), (right, *wanted)):
            a, b = a.detach().double(), b.detach()
            if what == "dq":
                # A row that sees one key has the gradient 0, as a difference of equal numbers (docs/numerics.md). Its rounding errors
                # are relative to the terms, whose size is about 1 for standard normal values and equal head sizes.
                zero = b.abs().amax(-1) < 1e-9
                assert (a[zero].abs().max() if zero.any() else 0) < outliers.FACTOR * limit, f"{name}: dq of rows that see one key"
                a, b = a[~zero], b[~zero]
            assert outliers.close_enough(a, b, limit) == "", f"{name}: {what}"

    def leaves(self, key, value, dtype, group, keys=None):
        generator = torch.Generator().manual_seed(3)
        shapes = [(self.packing.tokens, group, key), (keys or self.packing.tokens, 1, key), (keys or self.packing.tokens, 1, value)]
        return [torch.randn(shape, generator=generator).to(dtype).requires_grad_() for shape in shapes]

    def run_all(self, key, value, dtype, group):
        p, scale = self.packing, key ** -0.5
        name = f"heads of {key} and {value}, {dtype}, group {group}"
        same = self.leaves(key, value, dtype, group)
        self.check("dense, " + name, lambda q, k, v: ops.dense_attention(q, k, v, p.cu, p.longest)[0],
                   lambda q, k, v: ref.attention(q, k, v, ref.dense_mask(p), scale)[0], same)
        self.check("window, " + name, lambda q, k, v: ops.nsa_window_attention(q, k, v, p.cu, p.longest, WINDOW)[0],
                   lambda q, k, v: ref.attention(q, k, v, ref.window_mask(p, WINDOW), scale)[0], same)
        own = p.position // BLOCK
        indices = torch.stack([torch.zeros_like(own), torch.where(own > 0, own, -1)], -1)[None].int().contiguous()
        self.check("selected, " + name, lambda q, k, v: ops.nsa_selected_attention(q, k, v, indices, p.cu, p.longest, BLOCK)[0],
                   lambda q, k, v: ref.attention(q, k, v, ref.selected_mask(p, indices, BLOCK), scale)[0], same)
        cmp = ops.compressed_offsets(p.cu, LENGTH, STRIDE)
        self.check("compressed, " + name,
                   lambda q, k, v: ops.nsa_compressed_attention(q, k, v, p.cu, cmp, p.longest, LENGTH, STRIDE)[0],
                   lambda q, k, v: ref.attention(q, k, v, ref.compressed_mask(p, LENGTH, STRIDE), scale)[0],
                   self.leaves(key, value, dtype, group, int(cmp[-1])))
        fixed = [x.detach() for x in self.leaves(key, value, dtype, group, int(cmp[-1]))]  # its gradients are those of other ops
        swept = ops.nsa_compressed_selection(*fixed, p.cu, cmp, p.longest, LENGTH, STRIDE, BLOCK, SELECTED, 1, 1)[0]
        want = ref.attention(*(x.double() for x in fixed), ref.compressed_mask(p, LENGTH, STRIDE), scale)[0]
        assert outliers.close_enough(swept, want, LIMITS[dtype]) == "", f"compressed with selection, {name}"

    def test_every_head_size(self, subtests):
        for heads in HEADS:
            with subtests.test(heads=heads):
                self.run_all(*heads)

    def test_more_heads_of_a_key_than_rows_of_a_tile(self, subtests):
        for heads in LARGE_GROUP:
            with subtests.test(heads=heads):
                self.run_all(*heads)
