# tests/triton/interpreter_launcher.py - launches kernel files under Triton's interpreter and compares tensors.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""The comparisons raise AssertionError and print the errors that they allow: pytest -rP shows them."""
import importlib.util
import os
import pathlib
import sys

os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT), str(ROOT / "tests" / "helpers")]  # kernel files import from kernels.tiles
import torch  # noqa: E402
from outliers import outlier_text  # noqa: E402
from quick_interpreter import make_quick  # noqa: E402
from steady_products import make_steady  # noqa: E402

make_quick()
make_steady()
torch.set_num_threads(1)
LIMITS = {torch.float32: 1e-5, torch.float16: 1e-3, torch.bfloat16: 5e-3}  # by the type an output is stored in
loaded = {}


def kernel(path, name):
    """The innermost function of kernels/<path>: the interpreter refuses autotuned ones."""
    if path not in loaded:
        spec = importlib.util.spec_from_file_location("kernel_" + path.replace("/", "_")[:-3], ROOT / "kernels" / path)
        loaded[path] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(loaded[path])
    fn = getattr(loaded[path], name)
    while type(fn).__name__ in ("Autotuner", "Heuristics"):
        fn = fn.fn
    return fn


def mend_bf16():
    """Arithmetic, rounding and products of bf16 under the interpreter, whose own are wrong. Before the first launch."""
    sys.path.append(str(ROOT / "tests" / "replay"))
    import record_from_triton
    record_from_triton.mend_interpreter()


def pow2(x):
    return 1 << max(0, x - 1).bit_length()


def cdiv(a, b):
    return -(-a // b)


def launch(path, name, grid, *args, **constexprs):
    if all(grid):
        kernel(path, name)[tuple(grid)](*args, **constexprs)


def fresh(*shape, dtype=torch.float32):
    """An output buffer full of NaN (or a large negative number): a missed write shows."""
    fill = float("nan") if dtype.is_floating_point else -(1 << 30)
    return torch.full(shape, fill, dtype=dtype)


def dot_limit(dtype):
    """The limit of an output that depends on tl.dot of operands of a type."""
    return LIMITS[dtype]


def readings(dtype):
    """How tl.dot may read operands of a type: functions from a tensor to fp64."""
    return [torch.Tensor.double]


def deviation(got, want, limit):
    """(Relative RMS error, max abs error, None) or (0, 0, what is wrong): infinities must agree exactly and NaN never passes; no
    single element is off by more than rounding (tests/helpers/outliers.py)."""
    got, want = got.detach().double(), want.detach().double()
    if got.shape != want.shape:
        return 0.0, 0.0, f"shape {tuple(got.shape)} instead of {tuple(want.shape)}"
    inf = torch.isinf(want)
    if not torch.equal(got[inf], want[inf]) or not torch.isfinite(got[~inf]).all():
        return 0.0, 0.0, "NaN, or infinities at the wrong positions"
    if not (~inf).any():
        return 0.0, 0.0, None
    diff = got[~inf] - want[~inf]
    size, top = want[~inf].square().mean().sqrt().item(), diff.abs().max().item()
    return diff.square().mean().sqrt().item() / size if size else top, top, outlier_text(got, want, limit) or None


def check(what, got, want, limit):
    check_any(what, got, [want], limit)


def check_any(what, got, wants, limit):
    """The output is one of these, to the limit."""
    error, top, wrong = min((deviation(got, want, limit) for want in wants), key=lambda d: (d[2] is not None, d[0]))
    assert not wrong, f"{what}: {wrong}"
    print(f"{what}: {got.dtype}, relative RMS error {error:.1e}, largest error {top:.1e}")
    assert error <= limit, f"{what}: relative RMS error {error:.2e}, limit {limit:.0e}"


def close(what, got, want, limit=1e-6):
    """Absolute: for printed values, which carry six decimals."""
    error = (got.double() - want.double()).abs().max().item()
    assert error <= limit, f"{what}: differs by {error:.2e}, limit {limit:.0e}"


def equal(what, got, want):
    assert got.shape == want.shape, f"{what}: shape {tuple(got.shape)} instead of {tuple(want.shape)}"
    assert torch.equal(got, want), f"{what}: differs first at {(got != want).nonzero()[0].tolist()}"
