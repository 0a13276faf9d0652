# bench/codegen/kernel_files.py - the launches of kernels/: what the tests of tests/triton do, and the tutorials' kernels by size.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""tests/simulator and tests/triton must be on the path. `visit` gets (path, name, grid, args, constexprs, options); options None:
those of the decorator's first Config."""
import importlib
import unittest.mock

import simulator_launcher as launcher
from simulator_launcher import ROOT, cdiv, fresh, torch


def default_options(path, name):
    """num_warps and num_stages of the decorator's first Config."""
    launcher.kernel(path, name)
    found = getattr(launcher._base.loaded[path], name)
    while type(found).__name__ in ("Autotuner", "Heuristics"):
        if type(found).__name__ == "Autotuner":
            return dict(num_warps=found.configs[0].num_warps, num_stages=found.configs[0].num_stages)
        found = found.fn
    return dict(num_warps=4, num_stages=3)


def run_program(program, visit, quick):
    """Every kernel with the constants of its instances, launched by the tests of a file of tests/triton."""
    def launch(path, name, grid, *args, **constexprs):
        visit(path, name, grid, args, constexprs, None)

    launcher.launch = launch
    launcher.use("tf32")
    launcher.check = launcher.check_any = launcher.equal = lambda *a, **k: None
    import cases
    test = importlib.import_module(f"{program}_test")
    if program == "nn":
        for function, *arguments in test.CASES:
            function(*arguments)
    elif program == "tutorials":
        test.test_dilated_window()
    else:
        for shape in [cases.INSTANCES["quick"]] if quick else cases.INSTANCES.values():
            getattr(test, program)(shape)


def default_tiles(path, name):
    """The constants of the decorator's first Config."""
    launcher.kernel(path, name)
    found = getattr(launcher._base.loaded[path], name)
    return dict(found.configs[0].kwargs) if type(found).__name__ == "Autotuner" else {}


def attention_launches(head, group=4):
    """Kernel -> (path, Triton's function, arguments, constants, options) of dense and window attention in bf16, forward and backward, with
    heads of this size and the decorator's first Config. Nothing is run: the arguments serve for their types and alignment."""
    found = {}

    def launch(path, name, grid, *args, **constexprs):
        found[name] = (path, launcher.kernel(path, name), args, dict(constexprs, **default_tiles(path, name)), default_options(path, name))

    import cases
    test = importlib.import_module("backward_test")
    with unittest.mock.patch.object(cases, "launch", launch), unittest.mock.patch.object(test, "launch", launch):
        problem = cases.Problem(cases.Shape([150], hkv=1, group=group, dim=head, vdim=head, w=512, bm=64, bn=64, dtype=torch.bfloat16))
        problem.k = [k.contiguous() for k in problem.k]  # as the instances of the kernels: strides that 16 divides
        for path, stem, extra in (("dense/attn_bwd.py", "dense", {}), ("nsa/window_bwd.py", "window", dict(W=512))):
            _, lse = problem.window(stem == "dense")
            test.gradients(problem, path, stem, problem.k[2], problem.v[2], lse, lse, **extra)
    return found


# BM, BN, BK, warps, stages, type: the first is the instance of the file, the rest are usual configurations of such kernels.
MATMULS = [
    (64, 64, 32, 4, 3, torch.float16), (64, 64, 32, 4, 3, torch.float32), (64, 64, 32, 4, 3, torch.bfloat16),
    (64, 64, 64, 4, 3, torch.float16), (128, 64, 32, 4, 4, torch.float16), (64, 128, 32, 4, 4, torch.float16),
    (128, 128, 32, 4, 3, torch.float16), (128, 128, 32, 4, 4, torch.float16), (128, 128, 32, 8, 4, torch.float16),
    (128, 128, 64, 8, 3, torch.float16), (128, 256, 32, 8, 3, torch.float16), (128, 256, 64, 8, 3, torch.float16),
    (64, 256, 32, 4, 4, torch.float16), (256, 64, 32, 8, 4, torch.bfloat16), (128, 128, 32, 8, 3, torch.float32)]
SOFTMAXES = [(64, 1), (781, 4), (1024, 4), (3000, 8)]               # columns, warps
LAYER_NORMS = [(300, 128, 512, 4), (1024, 1024, 1024, 8)]           # columns, BLOCK forward, BLOCK backward, warps
ATTENTIONS = [(64, 64, 32, 1, 4, 3, torch.float16), (64, 64, 32, 0, 4, 3, torch.float32), (64, 128, 64, 1, 4, 3, torch.float16),
              (128, 128, 64, 1, 8, 3, torch.float16), (128, 128, 32, 1, 4, 3, torch.bfloat16)]
# D, BM, BN, CAUSAL, warps, stages, type


def run_tutorials(visit, quick):
    """The kernels of the tutorials with several tiles, warps and stages."""
    generator = torch.Generator().manual_seed(11)
    rand = lambda *dims, dtype=torch.float32: torch.randn(*dims, generator=generator).to(dtype)

    def launch(path, name, grid, *args, warps, stages=3, **constexprs):
        visit(path, name, grid, args, constexprs, dict(num_warps=warps, num_stages=stages))

    for bm, bn, bk, warps, stages, dtype in MATMULS[:2] if quick else MATMULS:
        m, n, k = 256, 256, 256
        a, b, c = rand(m, k, dtype=dtype), rand(k, n, dtype=dtype), fresh(m, n, dtype=dtype)
        launch("tutorials/matmul.py", "matmul", (cdiv(m, bm) * cdiv(n, bn),), a, b, c, m, n, k, k, n, n, BM=bm, BN=bn, BK=bk,
               ROWS=4, LEAKY=int(dtype == torch.float16), warps=warps, stages=stages)
    for cols, warps in SOFTMAXES[:1] if quick else SOFTMAXES:
        x, y = rand(9, cols), fresh(9, cols)
        launch("tutorials/softmax.py", "softmax", (4,), x, y, 9, cols, cols, cols, BLOCK=launcher.pow2(cols), warps=warps)
    for cols, forward, backward, warps in LAYER_NORMS[:1] if quick else LAYER_NORMS:
        rows = 9
        x, w, b, dy = rand(rows, cols) + 1, rand(cols), rand(cols), rand(rows, cols)
        y, mean, rstd, dx = fresh(rows, cols), fresh(rows), fresh(rows), fresh(rows, cols)
        launch("tutorials/layer_norm.py", "layer_norm_fwd", (rows,), x, w, b, y, mean, rstd, cols, cols, 1e-5, BLOCK=forward,
               warps=warps)
        launch("tutorials/layer_norm.py", "layer_norm_bwd_dx", (rows,), dx, dy, x, w, mean, rstd, torch.zeros(cols),
               torch.zeros(cols), cols, cols, BLOCK=backward, warps=warps)
    for d, bm, bn, causal, warps, stages, dtype in ATTENTIONS[:1] if quick else ATTENTIONS:
        heads, t = 2, 256
        q, k, v = (rand(heads, t, d, dtype=dtype) for _ in range(3))
        launch("tutorials/flash_attention.py", "flash_attention", (cdiv(t, bm), heads), q, k, v, fresh(heads, t, d, dtype=dtype),
               fresh(heads, t), d ** -0.5, t * d, d, t, D=d, BM=bm, BN=bn, CAUSAL=causal, warps=warps, stages=stages)
