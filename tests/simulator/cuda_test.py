# tests/simulator/cuda_test.py - kernels/cuda as NVRTC's PTX on the simulator, against fp64 and its autograd.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Needs NVRTC, a wheel of scripts/deps.lock."""
import subprocess

import pytest
import simulator
import simulator_launcher as launcher
from repository import PROGRAM, ROOT
from simulator_launcher import cdiv, check, equal, torch

import reference as ref
from cases import SHAPES, Problem  # after simulator_launcher

LIMIT = 1e-5
modules = {}  # of the kernels of all files


def tessera(*arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module", autouse=True)
def compile_all(tmp_path_factory):
    """The PTX of one kernel holds all of its file."""
    folder = tmp_path_factory.mktemp("cuda")
    for path in sorted((ROOT / "kernels/cuda").glob("*.cu")):
        first = tessera("compile", str(path), "--list").split("(")[0]
        tessera("compile", str(path), "-k", first, "--emit", "ptx", "-o", str(folder))
        module = simulator.Module((folder / (first + ".ptx")).read_text(), path.name)
        modules.update(dict.fromkeys(module.kernels, module))
        simulator.totals["compiled"] += len(module.kernels)


def run(kernel, threads, *args):
    if threads == 0:
        return
    values = [a.data_ptr() if isinstance(a, torch.Tensor) else 0 if a is None else simulator.bits_of(a) for a in args]
    tensors = [(f"argument {i}", a) for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
    modules[kernel].launch(kernel, (cdiv(threads, 128),), (128,), 0, values, simulator.ranges_of(tensors))


def leaf(x):
    return x.detach().double().requires_grad_()


def attention(p, name, k, v, mask, cu, extra=(), index=(), key_lens=None):
    """Forward and both backward kernels of one branch."""
    s, tag = p.shape, f"({p.shape})"
    q, do = p.q.contiguous(), p.do.contiguous()
    k, v = k.contiguous(), v.contiguous()
    sizes = (p.T, p.hq, s.hkv, s.dim, s.vdim, p.scale)
    o, lse = launcher.fresh(p.T, p.hq, s.vdim), launcher.fresh(p.T, p.hq)
    run(f"{name}_fwd", p.T * p.hq, q, k, v, *index, o, lse, *cu, *sizes, *extra)
    wq, wk, wv = leaf(q), leaf(k), leaf(v)
    want, want_lse, probs = ref.attention(wq, wk, wv, s.lens, mask, p.scale, key_lens)
    check(f"{name}_fwd {tag}", o, want, LIMIT)
    check(f"{name}_fwd.lse {tag}", lse.T, want_lse, LIMIT)
    dq = launcher.fresh(p.T, p.hq, s.dim)
    dk, dv = launcher.fresh(*k.shape), launcher.fresh(*v.shape)
    run(f"{name}_bwd_q", p.T * p.hq, q, k, v, *index, o, lse, do, dq, *cu, *sizes, *extra)
    rows = (k.shape[0],) if name == "compressed" else ()
    run(f"{name}_bwd_kv", k.shape[0] * s.hkv, q, k, v, *index, o, lse, do, dk, dv, *cu, *rows, *sizes, *extra)
    got = torch.autograd.grad(want, (wq, wk, wv), do.double(), allow_unused=True) if want.requires_grad else [None] * 3
    for what, mine, leaf_, grad in zip(("dq", "dk", "dv"), (dq, dk, dv), (wq, wk, wv), got):
        check(f"{name}_bwd.{what} {tag}", mine, torch.zeros_like(leaf_) if grad is None else grad, LIMIT)
    return o, lse, probs


def compression(p, x, w):
    s, tag, dim = p.shape, f"({p.shape})", x.shape[-1]
    x, rows = x.contiguous(), sum(p.counts)
    out = launcher.fresh(rows, s.hkv, dim)
    sizes = (s.hkv, dim, s.l, s.d)
    run("compress_fwd", rows * s.hkv, x, w, out, p.cu, p.cu_cmp, rows, *sizes)
    wx, ww = leaf(x), None if w is None else leaf(w)
    want = ref.compress(wx, ww, s.lens, s.l, s.d)
    check(f"compress_fwd {tag}", out, want, LIMIT)
    dout = torch.randn(out.shape, generator=torch.Generator().manual_seed(3))
    dx = launcher.fresh(*x.shape)
    run("compress_bwd_x", p.T * s.hkv, w, dout, dx, p.cu, p.cu_cmp, p.T, *sizes)
    leaves = [wx] + ([] if ww is None else [ww])
    grads = (torch.autograd.grad(want, leaves, dout.double(), allow_unused=True) if want.requires_grad and rows
             else [None] * len(leaves))
    grads = [torch.zeros_like(a) if g is None else g for a, g in zip(leaves, grads)]
    check(f"compress_bwd_x {tag}", dx, grads[0], LIMIT)
    if w is not None:
        dw = launcher.fresh(*w.shape)
        run("compress_bwd_weight", w.numel(), x, dout, dw, p.cu, p.cu_cmp, rows, *sizes)
        check(f"compress_bwd_weight {tag}", dw, grads[1], LIMIT)
    return out


def gating(p, branches, softmax, tau):
    s, tag = p.shape, f"({p.shape})"
    gates = launcher.fresh(p.T, s.hkv, 3)
    logits = p.logits.contiguous()
    run("gate_fwd", p.T * s.hkv, logits, gates, p.T * s.hkv, tau, softmax)
    wl = leaf(logits)
    wide = [leaf(b) for b in branches]
    want = ref.gates(wl, softmax, tau)
    check(f"gate_fwd {tag}", gates, want, LIMIT)
    out, sizes = launcher.fresh(p.T, p.hq, s.vdim), (p.T, p.hq, s.hkv, s.vdim)
    run("combine_fwd", p.T * p.hq, *branches, gates, out, *sizes)
    want = ref.combine(wide, want)
    check(f"combine_fwd {tag}", out, want, LIMIT)
    do = p.do.contiguous()
    d = [launcher.fresh(*out.shape) for _ in range(3)]
    run("combine_bwd_branches", p.T * p.hq, gates, do, *d, *sizes)
    dgates, dlogits = launcher.fresh(*gates.shape), launcher.fresh(*gates.shape)
    run("combine_bwd_gates", p.T * s.hkv, *branches, do, dgates, *sizes)
    run("gate_bwd", p.T * s.hkv, gates, dgates, dlogits, p.T * s.hkv, tau, softmax)
    grads = torch.autograd.grad(want, wide + [wl], do.double())
    for mine, grad in zip(d, grads):
        check(f"combine_bwd {tag}", mine, grad, LIMIT)
    check(f"gate_bwd {tag}", dlogits, grads[3], 1e-4)  # a difference of nearly equal sums


@pytest.mark.parametrize("number", (0, 1, 2, 4, 5, 6))     # the shapes in fp32 that are not wide
def test_stages(number):
    shape = SHAPES[number]
    p, s, tag = Problem(shape), shape, f"({shape})"
    kc, vc = compression(p, p.k[0], p.wk), compression(p, p.v[0], p.wv)
    compression(p, p.k[0], None)
    cmp_mask = ref.compressed_mask(s.hkv, s.l, s.d)
    oc, lse, probs = attention(p, "compressed", kc, vc, cmp_mask, (p.cu, p.cu_cmp), (s.l, s.d), key_lens=p.counts)
    blocks = p.most_blocks
    score = launcher.fresh(s.hkv, p.T, blocks)
    exact = s.l % s.d == 0 and s.lsel % s.d == 0
    run("block_scores", score.numel(), p.q.contiguous(), kc, lse, score, p.cu, p.cu_cmp, p.T, p.hq, s.hkv, s.dim, blocks,
        p.scale, s.l, s.d, s.lsel, s.d if exact else s.l)
    check(f"block_scores {tag}", score, ref.scores([x.detach() for x in probs], s.lens, s.group, s.l, s.d, s.lsel), LIMIT)
    idx = launcher.fresh(s.hkv, p.T, s.n, dtype=torch.int32)
    run("select_blocks", s.hkv * p.T, score, idx, p.cu, p.T, s.hkv, blocks, s.n, s.lsel, 1, 2)
    equal(f"select_blocks {tag}", idx, ref.select_all(score, s.lens, s.lsel, s.n))
    os_, _, _ = attention(p, "selected", p.k[1], p.v[1], ref.selected_mask(idx, s.lens, s.lsel), (p.cu,), (s.n, s.lsel),
                          (idx,))
    again = torch.cat([idx.flip(2), idx[..., :1], torch.full_like(idx[..., :1], 2 ** 30)], 2)     # no order, one twice, one after the query
    attention(p, "selected", p.k[1], p.v[1], ref.selected_mask(again, s.lens, s.lsel), (p.cu,), (s.n + 2, s.lsel), (again,))
    ow, _, _ = attention(p, "window", p.k[2], p.v[2], ref.window_mask(s.hkv, s.w), (p.cu,), (s.w,))
    attention(p, "dense", p.k[2], p.v[2], ref.causal_mask(s.hkv), (p.cu,))
    for softmax, tau in ((1, 0.7), (0, 0.4)):
        gating(p, (oc, os_, ow), softmax, tau)
