# tests/triton/language_test.py - every example of docs/language and more kernels: the cpu target against Triton's interpreter.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Every kernel takes (X, Y, I, OUT, IOUT, n, N): two float32 and one int32 input of 1,024 elements, zeroed float32 and int32
outputs of 4,096, n = 50, N = 64, in a grid of 2 programs. Floats agree to 1e-5 (relative RMS), integers exactly."""
import importlib.util
import os

import pytest
from compiled import torch
from outliers import outlier_text
from repository import ROOT

os.environ["TRITON_INTERPRET"] = "1"  # before anything imports Triton
import triton  # noqa: E402


IS_3_9 = triton.__version__ >= "3.9"
# Triton 3.9 removed block pointers, and its interpreter does not index a scalar.
NOT_IN_3_9 = {"ex_make_block_ptr", "ex_advance", "ex_attention_block_pointers", "ex_statement_index_scalar"}


def inputs():
    g = torch.Generator().manual_seed(11)
    return [torch.randn(1024, generator=g), torch.randn(1024, generator=g),
            torch.randint(0, 1000, (1024,), generator=g, dtype=torch.int32), torch.zeros(4096),
            torch.zeros(4096, dtype=torch.int32)]


def compare(got, want):
    if not torch.equal(got[4], want[4]):
        at = (got[4] != want[4]).nonzero()[0].item()
        return f"IOUT[{at}] is {got[4][at].item()}, not {want[4][at].item()}"
    a, b = got[3].double(), want[3].double()
    finite = torch.isfinite(b)
    if not torch.equal(torch.nan_to_num(a[~finite]), torch.nan_to_num(b[~finite])):
        return "NaN or infinity at other positions"
    error = (a - b)[finite].square().mean().sqrt().item()
    size = b[finite].square().mean().sqrt().item()
    if not error <= 1e-5 * max(size, 1e-30):
        at = (a - b).abs().argmax().item()
        return f"OUT differs by {error:.2e} of {size:.2e}; OUT[{at}] is {a[at].item()}, not {b[at].item()}"
    if wrong := outlier_text(a, b, 1e-5):
        return "OUT: " + wrong
    if not want[3].any() and not want[4].any():
        return "writes nothing, so it shows nothing"
    return None


def files():
    folders = [ROOT / "docs/language/examples", ROOT / "tests/triton/language"] + IS_3_9 * [ROOT / "tests/triton/language_3_9"]
    return [path for folder in folders for path in sorted(folder.glob("*.py"))]


def examples():
    for path in files():
        spec = importlib.util.spec_from_file_location("language_" + path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for name in vars(module):
            if name.startswith("ex_") and not (IS_3_9 and name in NOT_IN_3_9):
                yield pytest.param(path, getattr(module, name), name, id=f"{path.stem}-{name.removeprefix('ex_')}")


@pytest.mark.parametrize("path, kernel, name", examples())
def test_example(path, kernel, name):
    want, got = inputs(), inputs()
    kernel[(2,)](*want, 50, N=64)
    torch.ops.tessera.launch(str(path), name, got, [50], [2], "N=64")
    assert compare(got, want) is None
