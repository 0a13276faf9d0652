# tests/errors/cases/UnsupportedSyntax.py - kernel files that cause UnsupportedSyntax, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# assign-element - assigning to an element of a block
# Why: A block is a value, like a number: it has no places to write to.
# Fix: Choose elementwise with tl.where.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    a[0] = 1.0
    tl.store(out + at, a)

# expect:
# | kernel.py:10:5: error: assigning to an element is not supported [UnsupportedSyntax]
# |       a[0] = 1.0
# |       ^~~~
# | HINT: a block is a value: choose elementwise with a = tl.where(condition, new, a), or write memory with tl.store

# -----
# break-statement - leaving a loop with `break`
# Why: A loop of a kernel runs through all its rounds.
# Fix: Put what must not happen any more under an `if`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    for k in range(n):
        if k > 10:
            break
        a += 1.0
    tl.store(out + at, a)

# expect:
# | kernel.py:12:13: error: `break` is not supported [UnsupportedSyntax]
# |               break
# |               ^~~~~
# | HINT: put the rest of the loop's body under an `if`

# -----
# global-statement - a global variable
# Why: A kernel has no variables that outlive it.
# Fix: Write the result to memory with tl.store.

import triton
import triton.language as tl

COUNT = 0


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    global COUNT
    COUNT = COUNT + 1
    tl.store(out + at, a)

# expect:
# | kernel.py:12:5: error: `global` is not supported [UnsupportedSyntax]
# |       global COUNT
# |       ^~~~~~
# | HINT: pass the value as an argument; module constants are read without `global`

# -----
# import-in-function - an import inside a kernel
# Why: Imports stand at the top of the file.
# Fix: Move it to the top.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    import math

    tl.store(out + at, a * math.pi)

# expect:
# | kernel.py:10:5: error: an import inside a function is not supported [UnsupportedSyntax]
# |       import math
# |       ^~~~~~
# | HINT: import at the top of the file

# -----
# lambda-in-kernel - a lambda inside a kernel
# Why: Functions of a kernel stand at the top level of the file.
# Fix: Write a function with @triton.jit above the kernel.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    double = lambda x: x * 2
    tl.store(out + at, double(a))

# expect:
# | kernel.py:10:14: error: lambda inside a kernel is not supported [UnsupportedSyntax]
# |       double = lambda x: x * 2
# |                ^~~~~~
# | HINT: write a @triton.jit function

# -----
# nested-function - a function inside a kernel
# Why: Functions stand at the top level of the file.
# Fix: Move `double` above the kernel and decorate it with @triton.jit.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    def double(x):
        return x * 2

    tl.store(out + at, double(a))

# expect:
# | kernel.py:10:5: error: a function inside a function is not supported [UnsupportedSyntax]
# |       def double(x):
# |       ^~~
# | HINT: move it to the top of the file

# -----
# star-arguments - a variable number of parameters
# Why: Every parameter of a kernel has a name, so that its type is known.
# Fix: Name every parameter.

import triton
import triton.language as tl


@triton.jit
def total(*parts):
    return parts[0] + parts[1]


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, total(a, a))

# expect:
# | kernel.py:6:11: error: `*` among parameters is not supported [UnsupportedSyntax]
# |   def total(*parts):
# |             ^
# | HINT: name every parameter

# -----
# try-statement - a statement that kernels do not have
# Why: The language is a subset of Python: docs/language/syntax.md lists its statements.
# Fix: Leave the `try` out: nothing in a kernel raises.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    try:
        tl.store(out + at, a)
    except ValueError:
        pass

# expect:
# | kernel.py:10:5: error: `try` is not supported [UnsupportedSyntax]
# |       try:
# |       ^~~
# | HINT: kernels raise no exceptions

# -----
# walrus - `:=` in an expression
# Why: Assignments are statements of their own.
# Fix: Assign first.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    if (total := n + 1) > 3:
        tl.store(out + at, a * total)

# expect:
# | kernel.py:10:15: error: `:=` is not supported [UnsupportedSyntax]
# |       if (total := n + 1) > 3:
# |                 ^~
# | HINT: assign in a statement of its own
