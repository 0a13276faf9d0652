# docs/language/examples/atomics.py - read-modify-write in memory.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Atomics

Each gives the element that was there before. `atomic_add` takes fp16, bf16 and numbers of 32 or 64 bits, `atomic_cas` numbers of 16, 32 or 64 bits, the others numbers of 32 or 64 bits; the bitwise ones take integers.
`sem` is 'acq_rel' (also if it is left out), 'acquire', 'release' or 'relaxed', `scope` is 'gpu' (also if it is left out), 'cta' or 'sys': on a GPU the instruction has that order and scope. On cpu every atomic acquires and releases, whatever the words are."""
import triton
import triton.language as tl


@triton.jit
def ex_atomic_add(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """adds to memory"""
    r = tl.arange(0, N)
    tl.atomic_add(IOUT + r % 8, r, mask=r < n, sem="relaxed")
    tl.atomic_add(OUT + N, 1.5)


@triton.jit
def ex_atomic_max(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """the larger of memory and value"""
    tl.atomic_max(IOUT + tl.arange(0, N) % 4, tl.load(I + tl.arange(0, N)))


@triton.jit
def ex_atomic_min(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """the smaller of memory and value"""
    tl.atomic_min(IOUT + tl.arange(0, N) % 4, -tl.load(I + tl.arange(0, N)))


@triton.jit
def ex_atomic_and(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """bits of both"""
    tl.store(IOUT + tl.program_id(0), 255)
    tl.atomic_and(IOUT + tl.program_id(0), 15)


@triton.jit
def ex_atomic_or(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """bits of either"""
    tl.atomic_or(IOUT + tl.arange(0, N) % 4, tl.arange(0, N))


@triton.jit
def ex_atomic_xor(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """bits of one"""
    tl.atomic_xor(IOUT + tl.arange(0, N) % 4, tl.arange(0, N) + tl.program_id(0))


@triton.jit
def ex_atomic_xchg(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """writes, gives what was there"""
    old = tl.atomic_xchg(IOUT + tl.program_id(0), 7)
    tl.store(IOUT + 4 + tl.program_id(0), old + 1)


@triton.jit
def ex_atomic_cas(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """writes where memory holds what is expected: a lock"""
    while tl.atomic_cas(IOUT, 0, 1) == 1:
        pass
    tl.store(OUT, tl.load(OUT) + 1)
    tl.atomic_xchg(IOUT, 0)
