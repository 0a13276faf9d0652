"""tests/python/rounding_test.py - what is documented to be rounded to nearest has an instruction that does so.

The simulator computes approximate square roots and quotients exactly, so PTX is read here.

SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import subprocess
import tempfile

KERNEL = """import triton
import triton.language as tl


# tessera: instance rounded(X="*fp32:16", Y="*fp32:16", N="i32")
@triton.jit
def rounded(X, Y, N):
    r = tl.arange(0, 32)
    x = tl.load(X + r)
    tl.store(Y + r, %s)
"""


def ptx(expression):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "k.py").write_text(KERNEL % expression, encoding="utf-8")
        subprocess.run([os.environ["PROGRAM"], "compile", folder / "k.py", "-i", "rounded", "--target", "sm_80", "--emit", "ptx", "-o", folder],
                       check=True, capture_output=True, text=True)
        return (folder / "rounded.ptx").read_text(encoding="utf-8")


def test_to_nearest():
    for expression, wanted in (("tl.sqrt_rn(x)", "sqrt.rn.f32"), ("tl.math.sqrt_rn(x)", "sqrt.rn.f32"), ("tl.div_rn(x, 3.0)", "div.rn.f32"),
                               ("tl.math.div_rn(x, x + 1.0)", "div.rn.f32"), ("tl.fdiv(x, 3.0, ieee_rounding=True)", "div.rn.f32"),
                               ("tl.softmax(x, ieee_rounding=True)", "div.rn.f32")):
        text = ptx(expression)
        assert wanted in text, expression
        assert "sqrt.approx" not in text, expression
        assert "div.full" not in text, expression


def test_fast_forms():
    for expression, wanted in (("tl.sqrt(x)", "sqrt.approx"), ("tl.fdiv(x, 3.0)", "div.full"), ("x / 3.0", "div.full")):
        assert wanted in ptx(expression), expression
