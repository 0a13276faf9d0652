# tests/triton/nn_test.py - RMSNorm, residual sums, activations, RoPE, row sums and the loss of a linear layer under Triton's interpreter against fp64.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import pytest
import torch

from launcher import LIMITS, cdiv, check, check_any, dot_limit, equal, fresh, launch, pow2, readings
import reference as ref
from cases import strides

gen = torch.Generator()


@pytest.fixture(autouse=True)
def seed():
    """Each test draws the same numbers, whether it runs alone or not."""
    gen.manual_seed(5)


def rand(*dims, dtype=torch.float32):
    return torch.randn(*dims, generator=gen).to(dtype)


def rmsnorm(rows, dim, dtype):
    tag, limit, eps, br, steps = f"({rows}x{dim} {dtype})", LIMITS[dtype], 1e-6, 4, 3
    x, w, dy = rand(rows, dim + 3, dtype=dtype)[:, :dim], rand(dim, dtype=dtype), rand(rows, dim, dtype=dtype)
    y, rstd, dx = fresh(rows, dim, dtype=dtype), fresh(rows), fresh(rows, dim, dtype=dtype)
    shape = dict(D=dim, DP=pow2(dim), BR=br)
    launch("nn/rmsnorm_fwd.py", "rmsnorm_fwd", (cdiv(rows, br),), x, w, y, rstd, rows, eps, x.stride(0), y.stride(0), **shape)
    rx, rw = x.double().requires_grad_(), w.double().requires_grad_()
    want = ref.rmsnorm(rx, rw, eps)
    check(f"rmsnorm_fwd {tag}", y, want, limit)
    grid = (cdiv(rows, br * steps),)
    part, dw = fresh(grid[0], dim), fresh(dim)
    launch("nn/rmsnorm_bwd.py", "rmsnorm_bwd", grid, dy, x, w, rstd, dx, part, rows, dy.stride(0), x.stride(0), dx.stride(0),
           **shape, STEPS=steps)
    launch("nn/reduce_rows.py", "reduce_rows", (cdiv(dim, 16),), part, dw, grid[0], dim, BC=16)
    want_x, want_w = torch.autograd.grad(want, (rx, rw), dy.double())
    check(f"rmsnorm_bwd.dx {tag}", dx, want_x, limit)
    check(f"rmsnorm_bwd.dw {tag}", dw, want_w, 1e-5)


def residual_norm(rows, dim, dtype):
    tag, limit, eps, br, steps = f"({rows}x{dim} {dtype})", LIMITS[dtype], 1e-6, 4, 3
    x, r = rand(rows, dim + 3, dtype=dtype)[:, :dim], rand(rows, dim + 1, dtype=dtype)[:, :dim]
    w, dy, dz = rand(dim, dtype=dtype), rand(rows, dim, dtype=dtype), rand(rows, dim, dtype=dtype)
    z, y, rstd, dx = fresh(rows, dim, dtype=dtype), fresh(rows, dim, dtype=dtype), fresh(rows), fresh(rows, dim, dtype=dtype)
    shape = dict(D=dim, DP=pow2(dim), BR=br)
    launch("nn/residual_norm.py", "residual_norm_fwd", (cdiv(rows, br),), x, r, w, z, y, rstd, rows, eps, x.stride(0), r.stride(0),
           dim, **shape)
    equal(f"residual_norm_fwd.z {tag}", z, x + r)
    rz, rw = z.double().requires_grad_(), w.double().requires_grad_()
    want = ref.rmsnorm(rz, rw, eps)
    check(f"residual_norm_fwd.y {tag}", y, want, limit)
    grid = (cdiv(rows, br * steps),)
    part, dw = fresh(grid[0], dim), fresh(dim)
    launch("nn/residual_norm.py", "residual_norm_bwd", grid, dy, dz, z, w, rstd, dx, part, rows, dim, dim, dim, dim, **shape, STEPS=steps)
    launch("nn/reduce_rows.py", "reduce_rows", (cdiv(dim, 16),), part, dw, grid[0], dim, BC=16)
    want_z, want_w = torch.autograd.grad(want, (rz, rw), dy.double())
    check(f"residual_norm_bwd.dx {tag}", dx, want_z + dz.double(), limit)
    check(f"residual_norm_bwd.dw {tag}", dw, want_w, 1e-5)


def linear_loss(rows, vocabulary, dim, dtype, span=32, ignored=-100):
    tag, bm, bn, bk = f"({rows}x{vocabulary}x{dim} {dtype})", 16, 16, 32
    h, w = rand(rows, dim + 3, dtype=dtype)[:, :dim], (rand(vocabulary, dim + 1) * 2 / dim ** 0.5).to(dtype)[:, :dim]
    targets = torch.randint(vocabulary, (rows,), generator=gen)
    targets[rows // 2] = ignored
    splits, width = cdiv(vocabulary, span), 16 * cdiv(vocabulary, 16)
    state, lse, loss = fresh(3, splits, rows), fresh(rows), fresh(rows)
    shape = dict(D=dim, BK=bk, BM=bm, BN=bn)
    launch("nn/linear_loss.py", "linear_loss_fwd", (cdiv(rows, bm), splits), h, w, targets, state, rows, vocabulary, span, h.stride(0),
           w.stride(0), **shape)
    launch("nn/linear_loss.py", "linear_loss_sum", (cdiv(rows, 16),), state, targets, lse, loss, rows, vocabulary, splits, ignored, BC=16)
    grad, dl = rand(rows), fresh(rows, width, dtype=dtype)
    launch("nn/linear_loss.py", "linear_loss_bwd", (cdiv(rows, bm) * cdiv(vocabulary, bn),), h, w, targets, lse, grad, dl, rows,
           vocabulary, ignored, h.stride(0), w.stride(0), width, **shape)
    wants = []
    for read in readings(dtype):
        logits = (read(h) @ read(w).T).requires_grad_()
        want = torch.nn.functional.cross_entropy(logits, targets, reduction="none", ignore_index=ignored)
        wants.append((torch.logsumexp(logits, 1), want, torch.autograd.grad(want, logits, grad.double(), retain_graph=True)[0]))
    limit = dot_limit(dtype) if dtype == torch.float32 else 1e-5        # products of fp16 are exact, sums fp32
    check_any(f"linear_loss.lse {tag}", lse, [x[0] for x in wants], limit)
    check_any(f"linear_loss.loss {tag}", loss, [x[1] for x in wants], limit)
    check_any(f"linear_loss.dlogits {tag}", dl[:, :vocabulary], [x[2] for x in wants], max(limit, LIMITS[dtype]))
    if width > vocabulary:
        equal(f"linear_loss.beside {tag}", dl[:, vocabulary:].isnan().all(), torch.tensor(True))


def logits_loss(rows, vocabulary, dtype, ignored=-100, scale=3.0):
    """Targets: one is ignored, and one is outside of the vocabulary, whose loss is NaN. Columns after the last hold NaN."""
    tag, br, bc, width = f"({rows}x{vocabulary} {dtype})", 2, 32, 16 * cdiv(vocabulary, 16)
    logits = torch.full((rows, width), float("nan"), dtype=dtype)
    logits[:, :vocabulary] = (rand(rows, vocabulary) * scale).to(dtype)
    targets = torch.randint(vocabulary, (rows,), generator=gen)
    targets[rows // 2] = ignored
    lse, loss, grad = fresh(rows), fresh(rows), rand(rows)
    exact = logits[:, :vocabulary].double().requires_grad_()
    want = torch.nn.functional.cross_entropy(exact, targets, reduction="none", ignore_index=ignored)
    want_d = torch.autograd.grad(want, exact, grad.double())[0]
    wild = targets.clone()
    wild[rows - 1] = vocabulary
    launch("nn/logits_loss.py", "logits_loss_fwd", (cdiv(rows, br),), logits, wild, lse, loss, rows, vocabulary, ignored, width, BR=br, BC=bc)
    equal(f"logits_loss.outside {tag}", loss[rows - 1].isnan(), torch.tensor(True))
    launch("nn/logits_loss.py", "logits_loss_fwd", (cdiv(rows, br),), logits, targets, lse, loss, rows, vocabulary, ignored, width, BR=br, BC=bc)
    check(f"logits_loss.lse {tag}", lse, torch.logsumexp(exact, 1).detach(), 1e-5)
    check(f"logits_loss.loss {tag}", loss, want.detach(), 1e-5)
    launch("nn/logits_loss.py", "logits_loss_bwd", (cdiv(rows, br),), logits, targets, lse, grad, rows, vocabulary, ignored, width, BR=br, BC=bc)
    check(f"logits_loss.dlogits {tag}", logits[:, :vocabulary], want_d, LIMITS[dtype])
    equal(f"logits_loss.beside {tag}", logits[:, vocabulary:], torch.zeros_like(logits[:, vocabulary:]))


def activation(count, kind, dtype):
    tag, limit, bc = f"({count} kind {kind} {dtype})", LIMITS[dtype], 64
    x, g, dy = (rand(count, dtype=dtype) for _ in range(3))
    y, dx, dg = (fresh(count, dtype=dtype) for _ in range(3))
    gated = kind == 2
    grid = (cdiv(count, bc),)
    launch("nn/activation.py", "activation_fwd", grid, x, g if gated else x, y, count, KIND=kind, BC=bc)
    launch("nn/activation.py", "activation_bwd", grid, dy, x, g if gated else x, dx, dg if gated else dx, count, KIND=kind, BC=bc)
    rx, rg = x.double().requires_grad_(), g.double().requires_grad_()
    want = (rx.clamp(min=0) ** 2, rx * torch.sigmoid(rx), rx * rg * torch.sigmoid(rg))[kind]
    check(f"activation_fwd {tag}", y, want, limit)
    grads = torch.autograd.grad(want, (rx, rg) if gated else (rx,), dy.double())
    check(f"activation_bwd.dx {tag}", dx, grads[0], limit)
    if gated:
        check(f"activation_bwd.dg {tag}", dg, grads[1], limit)


def table(positions, rotary, scale):
    freq = 10000.0 ** (-torch.arange(0, rotary, 2).double() / rotary)
    angle = torch.arange(positions).double()[:, None] / scale * freq
    return angle.cos().float(), angle.sin().float()


def rope(x, cos, sin, lens, rotary, pos0=0, inverse=0, out=None):
    dim = x.shape[-1]
    y = fresh(*x.shape, dtype=x.dtype) if out is None else out
    launch("nn/rope.py", "rope", (x.shape[1], cdiv(max(lens), 16), len(lens)), x, y, cos, sin, ref.prefix(lens), pos0,
           *strides(x, y), D=dim, R=rotary, RH=pow2(rotary // 2), RT=pow2(dim - rotary), INVERSE=inverse, BT=16)
    return y


def rotations(lens, dim, rotary, dtype, scale, pos0):
    tag, limit = f"({lens} {rotary}/{dim} {dtype})", LIMITS[dtype]
    cos, sin = table(pos0 + max(lens), rotary, scale)
    x = rand(sum(lens), 3, dim + 2, dtype=dtype)[..., :dim]
    y = rope(x, cos, sin, lens, rotary, pos0)
    rx = x.double().requires_grad_()
    want = ref.rope(rx, lens, rotary, scale=scale, offset=pos0)
    check(f"rope {tag}", y, want, limit)
    dy = rand(*x.shape, dtype=dtype)
    check(f"rope.backward {tag}", rope(dy, cos, sin, lens, rotary, pos0, 1), torch.autograd.grad(want, rx, dy.double())[0], limit)
    again = x.clone()
    rope(again, cos, sin, lens, rotary, pos0, out=again)
    equal(f"rope.in_place {tag}", again, y)


def relative_scores():
    """A score depends on the distance alone (REQ-15), for every head."""
    dim, tokens = 16, 600
    cos, sin = table(tokens, dim, 1.0)
    q = rope(rand(1, 2, dim).repeat(tokens, 1, 1), cos, sin, [tokens], dim)
    k = rope(rand(1, 2, dim).repeat(tokens, 1, 1), cos, sin, [tokens], dim)
    for distance in (0, 5, 77):
        s = (q[distance:].double() * k[:tokens - distance].double()).sum(-1)
        check("rope.relative", s - s[:1], torch.zeros_like(s), 1e-4)


F32, F16 = torch.float32, torch.float16
CASES = [(relative_scores,)]  # functions and their arguments; bench/codegen/kernel_files.py runs them, too
for row in ((1, 16, F32), (33, 80, F32), (29, 192, F32), (15, 48, F16)):
    CASES += [(rmsnorm, *row), (residual_norm, *row)]
CASES += [(residual_norm, 9, 200, F32), (linear_loss, 1, 16, 32, F32), (linear_loss, 35, 71, 48, F32), (linear_loss, 20, 64, 96, F16, 64)]
CASES += [(logits_loss, 1, 1, F32), (logits_loss, 5, 71, F32), (logits_loss, 4, 64, F16), (logits_loss, 3, 40, F32, 7, 1e4)]
CASES += [(activation, count, kind, dtype) for kind in (0, 1, 2) for count, dtype in ((200, F32), (65, F16))]
CASES += [(rotations, [33, 0, 5], 16, 16, F32, 1.0, 0), (rotations, [20], 80, 80, F32, 4.0, 7), (rotations, [18, 1], 48, 20, F32, 1.0, 0),
          (rotations, [9], 64, 64, F16, 1.0, 0)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(str(part).removeprefix("torch.") for part in (case[0].__name__, *case[1:])))
def test_kernels(case):
    function, *arguments = case
    function(*arguments)
