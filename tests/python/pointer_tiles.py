# tests/python/pointer_tiles.py - tiles of row pointers made in every way that the language has, and every access through them.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl


@triton.jit
def pick(a, b, condition):
    return tl.where(condition, a, b)


@triton.jit
def pick_by_branch(a, b, flag):
    if flag > 0:
        chosen = a
    else:
        chosen = b
    return chosen


@triton.jit
def both(a, b):
    return b, a


@triton.jit
def rows_of(A, B, ADDRESSES, STEPS, flag, n, HOW: tl.constexpr, M: tl.constexpr, N: tl.constexpr, SIZE: tl.constexpr):
    """A pointer for each of M rows of A and B; pointer_tiles_test.py chooses the rows."""
    r = tl.arange(0, M)
    a, b = A + r * N, B + r * N
    odd = tl.load(STEPS + r) % 2 == 1
    if HOW == "plain":
        p = a
    if HOW == "where":
        p = tl.where(odd, a, b)
    if HOW == "where_of_range":
        p = tl.where(r > M // 2, a, b)
    if HOW == "where_of_scalar":
        p = tl.where(flag > 0, a, b)
    if HOW == "if":
        if flag > 0:
            p = a
        else:
            p = b
    if HOW == "if_moves":
        p = a
        if flag > 0:
            p += tl.load(STEPS + r) * N
    if HOW == "for":
        p = a
        for i in range(n):
            p += N
    if HOW == "for_by_rows":
        p = a
        for i in range(n):
            p += tl.load(STEPS + r) * N
    if HOW == "for_where":
        p = a
        for i in range(n):
            p = tl.where(r > 2, p + N, p + 2 * N)
    if HOW == "for_swaps":
        p, q = a, b
        for i in range(n):
            p, q = q, p + N
    if HOW == "for_in_for":
        p = a
        for i in range(n):
            for j in range(i):
                p += N
            p = tl.where(odd, p + N, p)
    if HOW == "while":
        p = a
        i = 0
        while i < n:
            p += N
            i += 1
    if HOW == "while_swaps":
        p, q = a, b
        i = 0
        while i < n:
            p, q = both(p + N, q)
            i += 1
    if HOW == "while_in_for":
        p = a
        for i in range(n):
            j = 0
            while j < i:
                p += N
                j += 1
    if HOW == "address":
        p = tl.load(ADDRESSES + r).to(tl.pointer_type(A.dtype.element_ty))
    if HOW == "address_mask":
        p = tl.load(ADDRESSES + r, mask=r < M, other=0).to(tl.pointer_type(A.dtype.element_ty))
    if HOW == "address_carried":
        p = tl.load(ADDRESSES + r).to(tl.pointer_type(A.dtype.element_ty))
        for i in range(n):
            p += N
    if HOW == "integers":
        p = (A.to(tl.int64) + r.to(tl.int64) * (N * SIZE)).to(tl.pointer_type(A.dtype.element_ty))
    if HOW == "integers_where":
        p = tl.where(odd, a.to(tl.int64), b.to(tl.int64)).to(tl.pointer_type(A.dtype.element_ty))
    if HOW == "bytes":
        p = (A.to(tl.pointer_type(tl.int8)) + r * (N * SIZE)).to(tl.pointer_type(A.dtype.element_ty))
    if HOW == "bytes_where":
        p = tl.where(odd, a, b).to(tl.pointer_type(tl.int8)) + N * SIZE
        p = p.to(tl.pointer_type(A.dtype.element_ty))
    if HOW == "helper":
        p = pick(a, b, odd)
    if HOW == "helper_branch":
        p = pick_by_branch(a, b, flag)
    if HOW == "tuple":
        q, p = both(tl.where(odd, a, b), b)
    if HOW == "reshape":
        p = tl.reshape(tl.where(odd, a, b)[None, :], (M,))
    if HOW == "reshape_square":
        i, j = tl.arange(0, M // 2), tl.arange(0, 2)
        p = tl.reshape(A + (i[:, None] + j[None, :] * (M // 2)) * N, (M,))
    if HOW == "trans":
        i, j = tl.arange(0, M // 2), tl.arange(0, 2)
        p = tl.reshape(tl.trans(A + (i[:, None] * 2 + j[None, :]) * N), (M,))
    if HOW == "trans_where":
        i, j = tl.arange(0, M // 2), tl.arange(0, 2)
        at = (i[:, None] * 2 + j[None, :]) * N
        p = tl.reshape(tl.trans(tl.where(i[:, None] > 0, A + at, B + at)), (M,))
    if HOW == "join":
        i = tl.arange(0, M // 2)
        p = tl.reshape(tl.join(A + i * N, B + i * N), (M,))
    if HOW == "interleave":
        i = tl.arange(0, M // 2)
        p = tl.interleave(A + i * N, tl.where(i > 1, A + i * N, B + i * N))
    if HOW == "split":
        p, q = tl.split(tl.join(tl.where(odd, a, b), a))
    if HOW == "broadcast":
        p = tl.reshape(tl.broadcast_to(tl.where(odd, a, b)[:, None], (M, 1)), (M,))
    if HOW == "one":
        p = tl.broadcast_to(tl.where(tl.arange(0, 1) + flag > 0, A + tl.arange(0, 1), B + tl.arange(0, 1)), (M,))
    if HOW == "scalar_where":
        p = tl.where(flag > 0, A, B) + r * N
    if HOW == "scalar_if":
        if flag > 0:
            base = A
        else:
            base = B + N
        p = base + r * N
    if HOW == "scalar_for":
        base = A
        for i in range(n):
            base += N
        p = base + r * N
    if HOW == "scalar_while":
        base = A
        other = B
        i = 0
        while i < n:
            base, other = other, base + N
            i += 1
        p = base + r * N
    if HOW == "scalar_address":
        p = tl.load(ADDRESSES).to(tl.pointer_type(A.dtype.element_ty)) + r * N
    if HOW == "minus":
        p = tl.where(odd, a + 3 * N, b + 3 * N) - 2 * N
    return p


@triton.jit
def loads(A, B, ADDRESSES, STEPS, COLUMNS, O, P, flag, n, HOW: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
          SIZE: tl.constexpr):
    """O [8, M, N], P [2, M]: what several kinds of loads read."""
    p = rows_of(A, B, ADDRESSES, STEPS, flag, n, HOW, M, N, SIZE)
    r, c = tl.arange(0, M), tl.arange(0, N)
    at = r[:, None] * N + c[None, :]
    tl.store(O + at, tl.load(p[:, None] + c[None, :]))
    tl.store(O + M * N + at, tl.load(p[:, None] + c[None, :], mask=c[None, :] < n, other=1))
    tl.store(O + 2 * M * N + at, tl.load(p[:, None] + c[None, :], mask=r[:, None] < n, other=1))
    tl.store(O + 3 * M * N + at, tl.load(p[:, None] + c[None, :], mask=(r[:, None] + c[None, :]) % 2 == 0))
    tl.store(O + 4 * M * N + at, tl.load(p[:, None] + tl.load(COLUMNS + c)[None, :]))
    tl.store(O + 5 * M * N + at, tl.trans(tl.load(p[None, :] + c[:, None])))
    tl.store(O + 6 * M * N + at, tl.load(tl.broadcast_to(tl.expand_dims(p, 1), (M, N)) + (N - 1 - c)[None, :]))
    if n > 1:
        tl.store(O + 7 * M * N + at, tl.load(p[:, None] + c[None, :]))
    tl.store(P + r, tl.load(p))
    tl.store(P + M + r, tl.load(p + N - 1, mask=r % 2 == 0, other=1))


@triton.jit
def sums(A, B, ADDRESSES, STEPS, W, O, D, flag, n, HOW: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
         SIZE: tl.constexpr):
    """O [2 * M + N]: sums of rows, largest elements of rows, sums of columns; D [2, M, M]: products by W [N, M]."""
    p = rows_of(A, B, ADDRESSES, STEPS, flag, n, HOW, M, N, SIZE)
    r, c = tl.arange(0, M), tl.arange(0, N)
    tl.store(O + r, tl.sum(tl.load(p[:, None] + c[None, :]).to(tl.float32), 1))
    tl.store(O + M + r, tl.max(tl.load(p[:, None] + c[None, :]).to(tl.float32), 1))
    tl.store(O + 2 * M + c, tl.sum(tl.load(p[:, None] + c[None, :]).to(tl.float32), 0))
    w = tl.load(W + c[:, None] * M + r[None, :])
    x = tl.load(p[:, None] + c[None, :])
    tl.store(D + r[:, None] * M + r[None, :], tl.dot(x, w, input_precision="ieee"))
    tl.store(D + M * M + r[:, None] * M + r[None, :],
             tl.dot(tl.trans(w), tl.load(p[None, :] + c[:, None]), input_precision="ieee"))


@triton.jit
def stores(A, B, ADDRESSES, STEPS, X, flag, n, HOW: tl.constexpr, HOLD: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
           SIZE: tl.constexpr):
    p = rows_of(A, B, ADDRESSES, STEPS, flag, n, HOW, M, N, SIZE)
    r, c = tl.arange(0, M), tl.arange(0, N)
    x = tl.load(X + r[:, None] * N + c[None, :])
    if HOLD == "all":
        tl.store(p[:, None] + c[None, :], x)
    if HOLD == "columns":
        tl.store(p[:, None] + c[None, :], x, mask=c[None, :] < n)
    if HOLD == "rows":
        tl.store(p[:, None] + c[None, :], x, mask=r[:, None] < n)
    if HOLD == "some":
        tl.store(p[:, None] + c[None, :], x, mask=(r[:, None] + c[None, :]) % 2 == 0)
    if HOLD == "transposed":
        tl.store(p[None, :] + c[:, None], tl.trans(x))
    if HOLD == "first":
        tl.store(p, tl.load(X + r * N))
    if HOLD == "branch":
        if n > 1:
            tl.store(p[:, None] + c[None, :], x)


@triton.jit
def atomics(A, B, ADDRESSES, STEPS, X, O, flag, n, HOW: tl.constexpr, OP: tl.constexpr, M: tl.constexpr,
            N: tl.constexpr, SIZE: tl.constexpr):
    """O [M, N]: what the memory held before."""
    p = rows_of(A, B, ADDRESSES, STEPS, flag, n, HOW, M, N, SIZE)
    r, c = tl.arange(0, M), tl.arange(0, N)
    at = r[:, None] * N + c[None, :]
    x = tl.load(X + at)
    q = p[:, None] + c[None, :]
    if OP == "add":
        old = tl.atomic_add(q, x)
    if OP == "add_mask":
        old = tl.atomic_add(q, x, mask=c[None, :] < n)
    if OP == "max":
        old = tl.atomic_max(q, x)
    if OP == "xchg":
        old = tl.atomic_xchg(q, x)
    if OP == "cas":
        old = tl.atomic_cas(q, tl.load(q), x)
    if OP == "unused":
        tl.atomic_add(q, x)
        old = x
    tl.store(O + at, old)


@triton.jit
def reads_null(O, n, N: tl.constexpr):
    r = tl.arange(0, N)
    p = tl.full((N,), 0, tl.int64).to(tl.pointer_type(tl.float32))
    tl.store(O + r, tl.load(p + r, mask=r < n, other=3.0))


@triton.jit
def writes_null(O, n, N: tl.constexpr):
    r = tl.arange(0, N)
    p = tl.full((N,), 0, tl.int64).to(tl.pointer_type(tl.float32))
    tl.store(p + r, 3.0, mask=r < n)
    tl.store(O + r, 3.0)
