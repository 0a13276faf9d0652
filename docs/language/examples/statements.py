# docs/language/examples/statements.py - statements of the language, one kernel each.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Statements

A kernel is a function decorated with `@triton.jit`; helpers are such functions too and are inlined."""
from typing import NamedTuple

import triton
import triton.language as tl

SCALE = 3
LIMIT: tl.constexpr = 10
LEFT, RIGHT = tl.constexpr(1), tl.constexpr(2)


class Line(NamedTuple):
    slope: tl.tensor
    offset: tl.tensor = 1.0


@triton.jit
def at_line(line, x):
    return line.slope * x + line.offset


@triton.jit
def twice(x, by=2):
    return x * by


@triton.jit
def halves(x):
    return x * 0.5, x - x * 0.5


@triton.jit
def clip(x, low, high):
    if x < low:
        return low
    if x > high:
        return high
    return x


@triton.constexpr_function
def bits_of(n):
    count = 0
    while n > 1:
        n //= 2
        count += 1
    return count


@tl.constexpr
def rounded(n, to):
    return (n + to - 1) // to * to


def wide(dtype):
    if dtype == tl.float32:
        return 4
    raise ValueError("only float32 is known")


@triton.jit
def ex_statement_assign(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """`a = b`, `a, b = c`, `a += b`, `a: type = b`"""
    r = tl.arange(0, N)
    x, y = tl.load(X + r), tl.load(Y + r)
    (x, y), z = (y, x), x
    x += z
    x *= 2
    w: tl.float32 = x - y
    tl.store(OUT + r, w)


@triton.jit
def ex_statement_constexpr(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """`name: tl.constexpr = ...` keeps a compile-time value"""
    HALF: tl.constexpr = N // 2
    r = tl.arange(0, HALF)
    tl.store(OUT + r, tl.load(X + r + HALF) * SCALE + LIMIT)


@triton.jit
def ex_statement_constants(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """module constants, also taken apart"""
    tl.store(IOUT + tl.program_id(0), SCALE * LEFT + RIGHT + LIMIT)


@triton.jit
def ex_statement_if(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """`if`, `elif`, `else` on a run-time scalar"""
    pid = tl.program_id(0)
    value = n
    if pid == 0:
        value = n + 1
    elif pid == 1:
        value = n + 2
    else:
        value = 0
    tl.store(IOUT + pid, value)


@triton.jit
def ex_statement_constexpr_if(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """`if` on a compile-time value visits one arm only"""
    if N == 64:
        r = tl.arange(0, N)
    else:
        r = tl.no_such_function()
    tl.store(IOUT + r, r)


@triton.jit
def ex_statement_ternary(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """`a if c else b`"""
    pid = tl.program_id(0)
    value = n * 2 if pid > 0 else n
    size = N if N > 8 else 8
    tl.store(IOUT + pid, value + size)


@triton.jit
def ex_statement_for(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """`for` over range with bounds known at run time, also downwards"""
    total = 0
    for i in range(1, n, 3):
        total += i
    for i in range(10, 0, -2):
        total = total * 2 - i
    for i in tl.range(0, n, num_stages=2):
        total += 1
    tl.store(IOUT + tl.program_id(0), total)


@triton.jit
def ex_statement_static_range(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """`for` over tl.static_range is unrolled; so is one over a tuple"""
    total = 0
    for i in tl.static_range(4):
        total += i * i
    for _i in tl.static_range(8, 0, -4):
        total *= 2
    tl.store(IOUT + tl.program_id(0), total)


@triton.jit
def ex_statement_while(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """`while` with a run-time condition; values are carried"""
    pid = tl.program_id(0)
    low, high = 0, n * n + 1
    while low + 1 < high:
        middle = (low + high) // 2
        if middle * middle > n:
            high = middle
        else:
            low = middle
    tl.store(IOUT + pid, low)
    r = tl.arange(0, N)
    x = tl.load(X + r)
    step = 0
    while step < pid + 3:
        x = x * 0.5 + 1
        step += 1
    tl.store(OUT + pid * N + r, x)


@triton.jit
def ex_statement_return(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """`return` anywhere but in a loop"""
    pid = tl.program_id(0)
    if pid > 0:
        tl.store(IOUT, 7)
        return
    tl.store(IOUT + 1, clip(n, 3, 20))


@triton.jit
def ex_statement_helper(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """helpers with docstrings, defaults, keywords and several results"""
    r = tl.arange(0, N)
    a, b = halves(tl.load(X + r))
    tl.store(OUT + r, twice(a) + twice(x=b, by=3))
    tl.store(OUT + N + r, halves(a)[1])


@triton.jit
def ex_statement_starred(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """`f(*values)` spreads a tuple; tuples are joined, repeated and indexed"""
    sizes = (2, 3) + (4,)
    both = (n, n + 1)
    tl.store(IOUT + tl.program_id(0), twice(*both) + sizes[0] * sizes[-1] + len(sizes))


@triton.jit
def ex_statement_namedtuple(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """a class of `typing.NamedTuple` makes tuples whose values have names"""
    r = tl.arange(0, N)
    line = Line(tl.load(Y + r))
    steep = Line(offset=tl.load(Y), slope=3.0)
    tl.store(OUT + r, at_line(line, tl.load(X + r)) + at_line(steep, line[0]))


@triton.jit
def ex_statement_constexpr_function(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """a `triton.constexpr_function` runs while compiling, loops and all"""
    LOG: tl.constexpr = bits_of(N)
    tl.store(IOUT + tl.arange(0, 2**LOG), LOG)


@triton.jit
def ex_statement_plain_function(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """so do functions under `@tl.constexpr` and functions of Python, where their arguments are known"""
    SIZE: tl.constexpr = rounded(N - 7, 16)
    tl.store(IOUT + tl.arange(0, SIZE), wide(X.dtype.element_ty))


@triton.jit
def ex_statement_raise(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """`raise` is an error of the compilation where it is reached"""
    if N == 64:
        tl.store(IOUT, n)
    else:
        raise ValueError(f"N is {N}")


@triton.jit
def ex_statement_assert(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """`assert` is tl.device_assert: checked with TESSERA_DEBUG=1"""
    assert n > 0, f"n must be positive, N is {N}"
    tl.store(IOUT, n)


@triton.jit
def ex_statement_compare(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """`== != < <= > >=`, `is None`, `and or not` on scalars, `& | ^ ~` on blocks"""
    r = tl.arange(0, N)
    nothing = None
    keep = ((r > 3) & (r <= n)) | ~(r != 1)
    if n > 3 and not n == 5 or n < 0:
        tl.store(IOUT + r, keep.to(tl.int32))
    if nothing is None:
        tl.store(IOUT + N + r, (r >= n) ^ (r < 2))


@triton.jit
def ex_statement_arithmetic(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """`+ - * / // % << >> **`: `//` and `%` of run-time integers truncate"""
    r = tl.arange(0, N)
    i = tl.load(I + r)
    tl.store(IOUT + r, (i // 7) * 100 + i % 7 - (i << 2) + (i >> 3))
    tl.store(OUT + r, tl.load(X + r) / 3 - i / 8 + 2**3)


@triton.jit
def ex_statement_index(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """indexing with `None` and `:` adds dimensions, up to three and beyond"""
    a, b, c = tl.arange(0, 4), tl.arange(0, 8), tl.arange(0, 2)
    cube = a[:, None, None] * 16 + b[None, :, None] * 2 + c[None, None, :]
    tl.store(IOUT + cube, cube + tl.load(I + a)[:, None, None])


@triton.jit
def ex_statement_index_scalar(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """a scalar or pointer indexed with `None` and `:` is a block of one element"""
    r = tl.arange(0, 4)[None, None, None, :]
    tl.store(OUT[None, None, None, :] + r, tl.load(X[None, None, None, :] + r) + n[None, :])
