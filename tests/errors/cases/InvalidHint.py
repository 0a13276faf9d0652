# tests/errors/cases/InvalidHint.py - kernel files that cause InvalidHint, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# hint-inside - a hint inside a function
# Why: Hints belong to the function below them.
# Fix: Move the comment above `@triton.jit`.

import triton
import triton.language as tl


@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    # tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at), mask=at < n)

# expect:
# | kernel.py:7:5: error: a hint must start its line [InvalidHint]
# |       # tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
# |       ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# | HINT: write it on a line of its own above the function, not indented

# -----
# instance-missing - an instance that leaves a parameter out
# Why: An instance says the type or value of every parameter without a default.
# Fix: Add `n="i32"`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at), mask=at < n)

# expect:
# | kernel.py:5:12: error: the instance `rows` says nothing of `n` [InvalidHint]
# |   # tessera: instance rows(x="*fp32:16", out="*fp32:16", BLOCK=128)
# |              ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# | HINT: add its type, as in n="*fp32:16" or "i32"

# -----
# instance-type - an instance with a type that does not exist
# Why: Types of arguments are written as in Triton's signatures: *fp32, bf16, i32.
# Fix: Write `*fp32`.

import triton
import triton.language as tl


# tessera: instance rows(x="*float32", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at), mask=at < n)

# expect:
# | kernel.py:5:12: error: argument `x`: "*float32" is not a type of an argument [InvalidHint]
# |   # tessera: instance rows(x="*float32", out="*fp32:16", n="i32", BLOCK=128)
# |              ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# | HINT: in signatures it is called `fp32`

# -----
# instance-unknown - an instance with a name that is not a parameter
# Why: The kernel has no parameter of this name.
# Fix: Write `BLOCK`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at), mask=at < n)

# expect:
# | kernel.py:5:12: error: `rows` has no parameter `BLOK` [InvalidHint]
# |   # tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOK=128)
# |              ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# | HINT: did you mean `BLOCK`?

# -----
# misspelt-type-argument - a constexpr argument that names no type
# Why: A constexpr holds a number, a bool, a string, a type, None or a tuple of them; `tl.float33` is none.
# Fix: Write `TYPE=tl.float32`.

import triton
import triton.language as tl


# tessera: instance rows(out="*fp32:16", TYPE=tl.float33, BLOCK=128)
@triton.jit
def rows(out, TYPE: tl.constexpr, BLOCK: tl.constexpr):
    tl.store(out + tl.arange(0, BLOCK), tl.zeros((BLOCK,), TYPE))

# expect:
# | kernel.py:5:12: error: argument `TYPE` is `tl.float33`, which is not a value that a constexpr can have [InvalidHint]
# |   # tessera: instance rows(out="*fp32:16", TYPE=tl.float33, BLOCK=128)
# |              ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# | HINT: did you mean `tl.float32`?

# -----
# unknown-hint - a misspelt hint
# Why: A comment that begins with `# tessera:` is read by the compiler.
# Fix: Write `# tessera: instance`.

import triton
import triton.language as tl


# tessera: instanc rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at), mask=at < n)

# expect:
# | kernel.py:5:12: error: unknown hint `instanc` [InvalidHint]
# |   # tessera: instanc rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
# |              ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# | HINT: did you mean `instance`?
