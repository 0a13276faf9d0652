# tests/simulator/tutorials_test.py - kernels in the style of Triton's tutorials on the simulator, against fp64.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import os

import pytest
from simulator_launcher import cdiv, check, check_any, dot_limit, fresh, launch, readings, torch, use

generator = torch.Generator()
# SIMULATE="compiler=tessera" runs our PTX instead of Triton's, as in tests/triton/launcher.py.
COMPILER = "tessera" if "compiler=tessera" in os.environ.get("SIMULATE", "") else "triton"


@pytest.fixture(autouse=True)
def usual():
    """Each test has the same numbers, whether it runs alone or not."""
    generator.manual_seed(11)
    use("tf32", 4, 3, compiler=COMPILER)


def rand(*dims, dtype=torch.float32):
    return torch.randn(*dims, generator=generator).to(dtype)


def matmul(m, n, k, dtype, leaky, tag):
    a, b, c = rand(m, k, dtype=dtype), rand(k, n, dtype=dtype), fresh(m, n, dtype=dtype)
    launch("tutorials/matmul.py", "matmul", (cdiv(m, 64) * cdiv(n, 64),), a, b, c, m, n, k, k, n, n, BM=64, BN=64, BK=32,
           ROWS=2, LEAKY=leaky)
    want = a.double() @ b.double()
    check(f"matmul {m}x{n}x{k} {tag}", c, torch.where(want >= 0, want, 0.01 * want) if leaky else want, dot_limit(dtype))


def softmax(rows, cols, block):
    x, y = rand(rows, cols + 3)[:, :cols], fresh(rows, cols)
    launch("tutorials/softmax.py", "softmax", (min(rows, 3),), x, y, rows, cols, x.stride(0), cols, BLOCK=block)
    check(f"softmax {rows}x{cols}", y, torch.softmax(x.double(), 1), 1e-5)


def layer_norm(rows, n, block):
    x, w, b, dy = rand(rows, n) + 1, rand(n), rand(n), rand(rows, n)
    y, mean, rstd = fresh(rows, n), fresh(rows), fresh(rows)
    launch("tutorials/layer_norm.py", "layer_norm_fwd", (rows,), x, w, b, y, mean, rstd, n, n, 1e-5, BLOCK=128)
    leaves = [t.double().requires_grad_() for t in (x, w, b)]
    want = torch.nn.functional.layer_norm(leaves[0], (n,), leaves[1], leaves[2], 1e-5)
    check(f"layer_norm_fwd {rows}x{n}", y, want, 1e-5)
    dx, dw, db = fresh(rows, n), torch.zeros(n), torch.zeros(n)
    launch("tutorials/layer_norm.py", "layer_norm_bwd_dx", (rows,), dx, dy, x, w, mean, rstd, dw, db, n, n, BLOCK=block)
    for what, got, grad in zip(("dx", "dw", "db"), (dx, dw, db), torch.autograd.grad(want, leaves, dy.double())):
        check(f"layer_norm_bwd.{what} {rows}x{n}", got, grad, 1e-5)


def flash_attention(heads, t, d, dtype, causal, tag):
    q, k, v = rand(heads, t, d, dtype=dtype), rand(heads, t, d, dtype=dtype), rand(heads, t, d, dtype=dtype)
    o, lse = fresh(heads, t, d, dtype=dtype), fresh(heads, t)
    launch("tutorials/flash_attention.py", "flash_attention", (cdiv(t, 64), heads), q, k, v, o, lse, d ** -0.5, t * d, d, t,
           D=d, BM=64, BN=32, CAUSAL=causal)
    scores = [read(q) @ read(k).mT * d ** -0.5 for read in readings(dtype)]
    if causal:
        scores = [s.masked_fill(torch.ones(t, t, dtype=torch.bool).triu(1), float("-inf")) for s in scores]
    check(f"flash_attention {tag}", o, torch.softmax(scores[0], -1) @ v.double(), dot_limit(dtype))
    check_any(f"flash_attention.lse {tag}", lse, [torch.logsumexp(s, -1) for s in scores], 1e-5)


def everything(tag, precision, warps, stages):
    use(precision, warps, stages, compiler=COMPILER)
    matmul(96, 80, 100, torch.float32, 0, tag)
    matmul(130, 70, 72, torch.float16, 1, tag)
    flash_attention(2, 75, 64, torch.float16, 1, tag)
    flash_attention(1, 70, 32, torch.float32, 0, tag)


def test_tf32():
    everything("tf32", "tf32", 4, 3)


def test_bf16():
    matmul(64, 64, 96, torch.bfloat16, 0, "bf16")


@pytest.mark.parametrize("rows, columns, block", ((5, 781, 1024), (4, 64, 64)))
def test_softmax(rows, columns, block):
    softmax(rows, columns, block)


def test_layer_norm():
    layer_norm(5, 300, 512)


def test_full_ieee():
    everything("ieee", "ieee", 4, 3)


@pytest.mark.parametrize("warps", (1, 2, 8))
@pytest.mark.parametrize("stages", (1, 2, 4, 5))
def test_full_tf32(warps, stages):
    everything(f"tf32 warps={warps} stages={stages}", "tf32", warps, stages)


def test_full_rows():
    softmax(7, 3000, 4096)
    layer_norm(33, 512, 512)
