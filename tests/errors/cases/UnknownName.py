# tests/errors/cases/UnknownName.py - kernel files that cause UnknownName, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# defined-in-loop - a variable that only the body of a loop assigns
# Why: The loop may run zero times, and then the variable has no value.
# Fix: Assign it before the loop: `last = 0`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    for k in range(n):
        last = k
    tl.store(out + at, a * last)

# expect:
# | kernel.py:12:28: error: `last` may have no value here: it is assigned only inside the loop of line 10 [UnknownName]
# |       tl.store(out + at, a * last)
# |                              ^~~~
# | HINT: give `last` a value before that line

# -----
# variable-of-a-loop - the variable of a loop, after the loop
# Why: The variable has no value after its loop, also if the name had one before.
# Fix: Copy it inside of the loop: `last = k`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    k = 7
    for k in range(n):
        a += k
    tl.store(out + at, a * k)

# expect:
# | kernel.py:13:28: error: `k` may have no value here: it is the variable of the loop of line 11, and has no value after that loop [UnknownName]
# |       tl.store(out + at, a * k)
# |                              ^
# | HINT: copy it inside of the loop to a name that has a value before the loop

# -----
# defined-in-one-arm - a variable that only one arm of an `if` assigns
# Why: At run time the other arm may be taken, and then the variable has no value.
# Fix: Assign it before the `if`, or in both arms.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    if n > 1000:
        scale = 0.5
    tl.store(out + at, a * scale)

# expect:
# | kernel.py:12:28: error: `scale` may have no value here: it is assigned in one arm only of the `if` of line 10 [UnknownName]
# |       tl.store(out + at, a * scale)
# |                              ^~~~~
# | HINT: give `scale` a value before that line

# -----
# lower-case-true - `true` instead of `True`
# Why: Python's truth values are written with capitals.
# Fix: Write `True`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    b = tl.load(x + at, volatile=true)
    tl.store(out + at, a + b)

# expect:
# | kernel.py:10:34: error: `true` is not defined [UnknownName]
# |       b = tl.load(x + at, volatile=true)
# |                                    ^~~~
# | HINT: in Python it is written `True`

# -----
# missing-import - a file that does not import triton.language
# Why: The names `triton` and `tl` come from the two imports at the top.
# Fix: Write `import triton.language as tl`.

import triton


# tessera: instance fill(out="*fp32:16")
@triton.jit
def fill(out):
    tl.store(out, 1.0)

# expect:
# | kernel.py:7:5: error: `tl` is not defined [UnknownName]
# |       tl.store(out, 1.0)
# |       ^~
# | HINT: add `import triton.language as tl` at the top of the file

# -----
# missing-tl - a function of the language without `tl.`
# Why: `arange` is not a function of Python; the kernel language lives in the module `tl`.
# Fix: Write `tl.arange(0, BLOCK)`.

import triton
import triton.language as tl


# tessera: instance fill(out="*fp32:16", BLOCK=128)
@triton.jit
def fill(out, BLOCK: tl.constexpr):
    at = arange(0, BLOCK)
    tl.store(out + at, 1.0)

# expect:
# | kernel.py:8:10: error: `arange` is not defined [UnknownName]
# |       at = arange(0, BLOCK)
# |            ^~~~~~
# | HINT: functions and types of the language belong to its module: write tl.arange

# -----
# python-sorted - a function of Python that kernels do not have
# Why: Python's functions work on lists; a block is reduced by the functions of `tl`.
# Fix: Sort the data before the launch.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    b = sorted(a)
    tl.store(out + at, b)

# expect:
# | kernel.py:10:9: error: `sorted` is not defined [UnknownName]
# |       b = sorted(a)
# |           ^~~~~~
# | HINT: Python's `sorted` does not exist in kernels: sort before the launch

# -----
# unknown-name - a misspelt variable
# Why: A name must be assigned in the function, be a parameter, or stand at the top of the file.
# Fix: Write the name as it was assigned: `mask`.

import triton
import triton.language as tl


# tessera: instance add(x="*fp32:16", y="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    a = tl.load(x + at, mask=mask)
    tl.store(out + at, a, mask=maks)

# expect:
# | kernel.py:11:32: error: `maks` is not defined [UnknownName]
# |       tl.store(out + at, a, mask=maks)
# |                                  ^~~~
# | HINT: did you mean `mask`?
