# tests/simulator/simulator_launcher.py - launches kernel files on the simulator, with the functions of interpreter_launcher.py.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""tests/triton/launcher.py takes this module if the variable SIMULATE is set or a program imported it before, so that the tests there run
unchanged. Triton or tessera compiles every launch to PTX for sm_80; the simulator runs it with all checks on."""
import os
import tempfile

os.environ.setdefault("TRITON_CACHE_DIR", tempfile.mkdtemp(prefix="tessera-sim-"))
import simulator  # before interpreter_launcher, which sets TRITON_INTERPRET: Triton reads it when it is imported
from simulator import torch

import interpreter_launcher as _base

os.environ.pop("TRITON_INTERPRET", None)  # kernels are decorated when they are first launched

ROOT, pow2, cdiv, kernel, close, equal = _base.ROOT, _base.pow2, _base.cdiv, _base.kernel, _base.close, _base.equal
LIMITS, check, check_any = _base.LIMITS, _base.check, _base.check_any
TF32 = 2e-3
options = dict(num_warps=4, num_stages=3)
own = tf32 = False


def use(precision="ieee", warps=4, stages=3, fusion=1, compiler="triton"):
    """Whose PTX runs (triton, tessera), and how: how fp32 dots read their operands (ieee, tf32), and Triton's options.
    fusion=0: products and sums are not contracted.

    With contraction Triton turns the first step of a sum over lanes, x*y + shuffled(x*y), into a fused multiply-add: lanes that
    should hold copies of one sum then differ in the last bit, and where all of them store it, the winner is left open. The
    simulator reports that as the race it is."""
    os.environ["TRITON_F32_DEFAULT"] = precision
    options.update(num_warps=warps, num_stages=stages, enable_fp_fusion=bool(fusion))
    global own, tf32
    own, tf32 = compiler == "tessera", precision == "tf32"


def dot_limit(dtype):
    return TF32 if tf32 and dtype == torch.float32 else LIMITS[dtype]


def mend_bf16():
    """Nothing to mend: no interpreter runs."""


def cut(x):
    """As a tensor core reads fp32 for tf32: without the low 13 bits."""
    return (x.contiguous().view(torch.int32) & ~0x1fff).view(torch.float32).double()


def readings(dtype):
    """With tf32 either reading is right: a dot too small for the tensor cores reads operands unrounded."""
    return [torch.Tensor.double, cut] if tf32 and dtype == torch.float32 else _base.readings(dtype)


def fresh(*shape, dtype=torch.float32):
    return simulator.mark_unwritten(_base.fresh(*shape, dtype=dtype))


def launch(path, name, grid, *args, **constexprs):
    if not all(grid):
        return
    if own:
        simulator.launch_tessera(ROOT / "kernels" / path, name, kernel(path, name), tuple(grid), args, constexprs,
                                 dict(options, occupancy=False))
    else:
        simulator.launch_triton(kernel(path, name), tuple(grid), args, constexprs, options)
