# tests/errors/cases/InvalidDecorator.py - kernel files that cause InvalidDecorator, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# autotune-keyword - a misspelt keyword of a decorator
# Why: triton.autotune has no argument of this name.
# Fix: Write `configs=`.

import triton
import triton.language as tl


@triton.autotune(confgs=[triton.Config({"BLOCK": 128})], key=["n"])
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at), mask=at < n)

# expect:
# | kernel.py:5:18: error: triton.autotune has no keyword `confgs` [InvalidDecorator]
# |   @triton.autotune(confgs=[triton.Config({"BLOCK": 128})], key=["n"])
# |                    ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# | HINT: did you mean `configs`?

# -----
# config-parameter - a configuration for a parameter that is not there
# Why: Each name of a triton.Config is a constexpr parameter of the kernel.
# Fix: Write `BLOCK`.

import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK_SIZE": 128})], key=["n"])
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at), mask=at < n)

# expect:
# | kernel.py:5:26: error: the kernel has no parameter `BLOCK_SIZE` [InvalidDecorator]
# |   @triton.autotune(configs=[triton.Config({"BLOCK_SIZE": 128})], key=["n"])
# |                            ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# | HINT: did you mean `BLOCK`?

# -----
# heuristic-not-lambda - a heuristic that is a value
# Why: A heuristic computes its parameter from the arguments of each launch.
# Fix: Write `lambda args: args["n"] % 128 == 0`.

import triton
import triton.language as tl


@triton.heuristics({"EVEN": True})
@triton.jit
def rows(x, out, n, EVEN: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at), mask=at < n)

# expect:
# | kernel.py:5:2: error: a heuristic is a lambda of one argument [InvalidDecorator]
# |   @triton.heuristics({"EVEN": True})
# |    ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# | HINT: write {"EVEN": lambda args: ...}; args["NAME"] is an argument of the launch

# -----
# misspelt-module - a decorator of a module that is not imported
# Why: Python would not load this file either: `tritkn` is nothing. A helper is looked at like a kernel.
# Fix: Write `@triton.jit`.

import triton
import triton.language as tl


@tritkn.jit
def twice(x):
    return x * 2


# tessera: instance rows(x="*fp32:16", BLOCK=128)
@triton.jit
def rows(x, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, twice(tl.load(x + at)))

# expect:
# | kernel.py:5:2: error: the decorator `tritkn.jit` names `tritkn`, which is not defined [InvalidDecorator]
# |   @tritkn.jit
# |    ^~~~~~
# | HINT: did you mean `triton.jit`?

# -----
# unknown-decorator - a decorator of the function of a kernel
# Why: A decorator below `@triton.jit` gives it another function than the one that is written. One
#   above it wraps the launch and does not change the code.
# Fix: Remove the decorator, or write it above `@triton.jit`.

import triton
import triton.language as tl

import functools


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
@functools.lru_cache
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, a)

# expect:
# | kernel.py:9:2: error: unknown decorator `functools.lru_cache` of the function of a kernel [InvalidDecorator]
# |   @functools.lru_cache
# |    ^~~~~~~~~~~~~~~~~~~
# | HINT: write it above triton.jit, where it wraps the launch, or leave it out
