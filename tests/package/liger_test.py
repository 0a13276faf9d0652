# tests/package/liger_test.py - Liger-Kernel's own functions on CPU tensors, unchanged, through tessera.triton.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""The wheel that scripts/deps.lock pins (bench/codegen/published.py fetches it), its autograd functions against formulas in torch at
fp64: results and gradients. Real Triton is not imported."""
import sys

import pytest
import torch
import torch.nn.functional as F

import tessera  # noqa: F401 (loads the ops)
import tessera.triton
from codegen import published
from outliers import outlier_text

SITE, WHY = published.fetch()
if SITE is None:
    pytest.fail(f"Liger-Kernel cannot be fetched: {WHY}\nHINT: this test needs a package index, or the folder build/bench/peers of another checkout")
sys.path.append(str(SITE))


def function(module, name):
    with tessera.triton.installed():
        return getattr(__import__("liger_kernel.ops." + module, fromlist=[name]), name)


def first(result):
    return result[0] if isinstance(result, tuple) else result


class TestLiger:
    def setup_method(self):
        torch.manual_seed(0)

    def compare(self, module, name, arguments, formula, limit=1e-5):
        """arguments: tensors, of which floating-point ones with requires_grad are differentiated, and plain values."""
        mine = [x.detach().clone().requires_grad_(x.requires_grad) if isinstance(x, torch.Tensor) else x for x in arguments]
        exact = [x.detach().double().requires_grad_(x.requires_grad) if isinstance(x, torch.Tensor) and x.is_floating_point() else x
                 for x in arguments]
        got, want = first(function(module, name).apply(*mine)), formula(*exact)
        assert got.shape == want.shape
        weights = torch.randn(want.shape, dtype=torch.float64)
        (want * weights).sum().backward()
        (got * weights.to(got.dtype)).sum().backward()
        pairs = [(got, want)] + [(x.grad, y.grad) for x, y in zip(mine, exact) if isinstance(x, torch.Tensor) and x.requires_grad]
        for at, (x, y) in enumerate(pairs):
            error = ((x.double() - y).square().mean() / y.square().mean()).sqrt().item()
            what = f"{module}: {'result' if at == 0 else f'gradient {at}'}"
            assert error < limit, what
            assert outlier_text(x, y, limit) == "", what

    @staticmethod
    def grad(*shape):
        return torch.randn(*shape).requires_grad_()

    def test_rms_norm(self):
        self.compare("rms_norm", "LigerRMSNormFunction", [self.grad(12, 256), self.grad(256), 1e-6, 0.0, "llama", False],
                     lambda x, w, eps, *_: x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * w)

    def test_layer_norm(self):
        self.compare("layer_norm", "LigerLayerNormFunction", [self.grad(12, 250), self.grad(250), self.grad(250), 1e-5],
                     lambda x, w, b, eps: F.layer_norm(x, (250,), w, b, eps))

    def test_group_norm(self):
        self.compare("group_norm", "LigerGroupNormFunction", [self.grad(4, 8, 60), self.grad(8), self.grad(8), 8, 2, 1e-5],
                     lambda x, w, b, channels, groups, eps: F.group_norm(x, groups, w, b, eps))

    def test_softmax(self):
        self.compare("softmax", "LigerSoftmaxFunction", [self.grad(16, 1000)], lambda x: x.softmax(-1))

    def test_sparsemax(self):
        def sparsemax(x, axis):
            ordered, _ = x.sort(dim=-1, descending=True)
            total, k = ordered.cumsum(-1) - 1, torch.arange(1, x.shape[-1] + 1)
            count = (ordered * k > total).sum(-1, keepdim=True)
            return (x - total.gather(-1, count - 1) / count).clamp(min=0)
        self.compare("sparsemax", "LigerSparsemaxFunction", [self.grad(8, 200), -1], sparsemax)

    def test_swiglu(self):
        self.compare("swiglu", "LigerSiLUMulFunction", [self.grad(16, 500), self.grad(16, 500)], lambda a, b: F.silu(a) * b)

    def test_geglu(self):
        self.compare("geglu", "LigerGELUMulFunction", [self.grad(16, 500), self.grad(16, 500)],
                     lambda a, b: F.gelu(a, approximate="tanh") * b)

    def test_squared_relu(self):
        self.compare("relu_squared", "LigerReLUSquaredFunction", [self.grad(16, 256)], lambda x: F.relu(x).square())

    def test_dynamic_tanh(self):
        """Forward: the library's backward asks for the number of a GPU's SMs."""
        x, alpha, gamma, beta = torch.randn(16, 256), torch.randn(1), torch.randn(256), torch.randn(256)
        got = function("dyt", "LigerDyTFunction").apply(x, alpha, gamma, beta)
        torch.testing.assert_close(got, torch.tanh(alpha * x) * gamma + beta)

    def test_cross_entropy(self):
        labels = torch.randint(0, 1000, (16,))
        labels[3] = -100
        self.compare("cross_entropy", "LigerCrossEntropyFunction", [self.grad(16, 1000), labels, None],
                     lambda x, y, _: F.cross_entropy(x, y, ignore_index=-100))

    def test_kl_divergence(self):
        self.compare("kl_div", "LigerKLDivLossFunction",
                     [torch.randn(8, 500).log_softmax(-1).requires_grad_(), torch.randn(8, 500).softmax(-1)],
                     lambda x, y: F.kl_div(x, y, reduction="batchmean"))

    def test_total_variation(self):
        self.compare("tvd", "LigerTVDLossFunction",
                     [torch.randn(8, 500).softmax(-1).requires_grad_(), torch.randn(8, 500).softmax(-1)],
                     lambda p, q: (p - q).abs().sum() / 2 / p.shape[0])

    def test_sum_and_rms_norm(self):
        self.compare("fused_add_rms_norm", "LigerFusedAddRMSNormFunction",
                     [self.grad(12, 256), self.grad(12, 256), self.grad(256), 1e-6, 0.0, "llama", False],
                     lambda x, r, w, eps, *_: (x + r) * torch.rsqrt((x + r).square().mean(-1, keepdim=True) + eps) * w)

    def test_triton_itself_is_not_there(self):
        assert not [name for name in sys.modules if name.startswith("triton._C")]
