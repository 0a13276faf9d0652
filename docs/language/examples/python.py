# docs/language/examples/python.py - functions of Python and of triton.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Python and triton

They need compile-time values, but `min` and `max` of run-time values are `tl.minimum` and `tl.maximum`, `print` is `tl.device_print`, and `triton.cdiv` divides either. Of Python's names `abs` and `sum` work on blocks too."""
import triton
import triton.language as tl


@triton.jit
def ex_python_len(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """number of values of a tuple"""
    sizes = (1, 2, 3)
    tl.store(IOUT, len(sizes) * n)


@triton.jit
def ex_python_range(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """a loop"""
    for i in range(3):
        tl.store(IOUT + i, i + n)


@triton.jit
def ex_python_min(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """the smallest"""
    tl.store(IOUT, min(N, 7) + min(n, 5))


@triton.jit
def ex_python_max(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """the largest"""
    tl.store(IOUT, max(N, 7) + max(n, 5))


@triton.jit
def ex_python_float(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """a compile-time float"""
    tl.store(OUT, tl.maximum(tl.load(X), float("-inf")) + float(3))


@triton.jit
def ex_python_int(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """a compile-time integer"""
    HALF: tl.constexpr = int(N / 2)
    tl.store(IOUT + tl.arange(0, HALF), n)


@triton.jit
def ex_python_bool(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """a compile-time boolean"""
    if bool(N):
        tl.store(IOUT, n)


@triton.jit
def ex_python_tuple(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """a tuple of a tuple or list"""
    pair = tuple((n, n + 1))
    tl.store(IOUT, pair[0] * pair[1])


@triton.jit
def ex_python_print(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """tl.device_print"""
    print("n is", n)
    tl.store(IOUT, n)


@triton.jit
def ex_triton_cdiv(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """division rounded up"""
    for i in range(triton.cdiv(n, 16)):
        tl.store(IOUT + i, triton.cdiv(N, 10))


@triton.jit
def ex_triton_next_power_of_2(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """the next power of two"""
    BLOCK: tl.constexpr = triton.next_power_of_2(N - 3)
    tl.store(IOUT + tl.arange(0, BLOCK), n)


@triton.jit
def ex_python_isinstance(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """whether a value is a tl.tensor, tl.dtype, int, float, bool, tuple or of a class"""
    r = tl.arange(0, N)
    pair = (r, 2.0)
    if isinstance(r, tl.tensor) and isinstance(N, int):
        tl.store(IOUT + r, r)
    if isinstance(pair, (int, float)) or isinstance(N, tl.tensor):
        tl.store(IOUT + r, 7)


@triton.jit
def ex_python_getattr(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """an attribute by its name, or a default"""
    r = tl.arange(0, N)
    x = getattr(tl, "maximum")(tl.load(I + r), n)
    tl.store(IOUT + r, x.to(getattr(tl, "float" + "32")))
    tl.store(OUT, getattr(r, "no_such_thing", 3.5))


@triton.jit
def ex_python_hasattr(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """whether there is such an attribute"""
    r = tl.arange(0, N)
    tl.store(IOUT, 1 if hasattr(r, "dtype") else 2)
    tl.store(IOUT + 1, 1 if hasattr(tl, "no_such_thing") else 2)
