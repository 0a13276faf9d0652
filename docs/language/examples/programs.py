# docs/language/examples/programs.py - programs, hints, checks and printing.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Programs, hints and checks

`debug_barrier` makes the threads of a program wait for each other on a GPU; on cpu, where a program is one thread, it does nothing. The hints `multiple_of`, `max_contiguous`, `max_constancy` and `assume` stay in the tile IR as attributes (and as the operation
`tile.assume`); the cpu target does not rely on them. `device_assert` is compiled when TESSERA_DEBUG=1 or with `@triton.jit(debug=True)`; a false element stops the launch with its place, message,
program and element, and with both sides of a comparison. `device_print` writes to the standard output, one line a program and value (256 elements, TESSERA_PRINT_LIMIT lines a launch)."""
import triton
import triton.language as tl


@triton.jit
def ex_program_id(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """index of the program along an axis of the grid"""
    pid = tl.program_id(axis=0)
    r = pid * N + tl.arange(0, N)
    tl.store(OUT + r, tl.load(X + r) + pid)


@triton.jit
def ex_num_programs(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """number of programs along an axis"""
    for row in range(tl.program_id(0), 9, tl.num_programs(0)):
        tl.store(IOUT + row, row + tl.num_programs(1))


@triton.jit
def ex_multiple_of(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """claims that every first element of a run is divisible"""
    r = tl.multiple_of(tl.program_id(0) * N + tl.arange(0, N), 16)
    tl.store(OUT + r, tl.load(X + r))


@triton.jit
def ex_max_contiguous(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """claims runs of consecutive numbers"""
    r = tl.max_contiguous(tl.arange(0, N), N)
    tl.store(OUT + r, tl.load(X + r))


@triton.jit
def ex_max_constancy(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """claims runs of equal numbers"""
    r = tl.arange(0, N)
    tl.store(OUT + r, tl.load(X + tl.max_constancy(r // 4, 4)))


@triton.jit
def ex_assume(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """claims that a scalar condition holds"""
    tl.assume(n > 0)
    tl.store(IOUT, n)


@triton.jit
def ex_debug_barrier(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """threads of a program wait for each other"""
    r = tl.arange(0, N)
    own = OUT + tl.program_id(0) * N
    tl.store(own + r, 1.0)
    tl.debug_barrier()
    tl.store(own + r, tl.load(own + (N - 1 - r)) + r)


@triton.jit
def ex_static_assert(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """an error of the compilation unless true"""
    tl.static_assert(N % 16 == 0, f"N is {N}")
    tl.store(IOUT, N)


@triton.jit
def ex_static_print(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """writes compile-time values while compiling"""
    tl.static_print("N is", N)
    tl.store(IOUT, N)


@triton.jit
def ex_device_assert(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """stops the launch where false, in debug builds"""
    r = tl.arange(0, N)
    tl.device_assert(r < n, "beyond the end", mask=r < n)
    tl.store(IOUT + r, r)


@triton.jit
def ex_device_print(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """writes run-time values"""
    tl.device_print("first values", tl.load(X + tl.arange(0, 2)), n)
    tl.store(IOUT, n)


@triton.jit
def ex_range(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """a loop with wishes for the GPU pipeliner"""
    total = 0
    for i in tl.range(0, n, 2, num_stages=3, loop_unroll_factor=2):
        total += i
    tl.store(IOUT, total)


@triton.jit
def ex_static_range(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """a loop unrolled while compiling"""
    for i in tl.static_range(1, 9, 2):
        tl.store(IOUT + i, i * n)


@triton.jit
def ex_swizzle2d(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """row-major numbers of tiles to an order in groups of rows"""
    i, j = tl.swizzle2d(tl.program_id(0), 3, 5, 4, 2)
    tl.store(IOUT + tl.program_id(0) * 2, i)
    tl.store(IOUT + tl.program_id(0) * 2 + 1, j)
