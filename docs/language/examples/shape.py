# docs/language/examples/shape.py - blocks in other shapes.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Shape

A block is indexed with `None` and `:` only; `x.T` transposes two dimensions."""
import triton
import triton.language as tl


@triton.jit
def ex_reshape(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """the same elements in another shape"""
    r = tl.arange(0, 8)[:, None] * 8 + tl.arange(0, 8)[None, :]
    x = tl.load(X + r)
    y = tl.reshape(x, (4, 16))
    c = tl.arange(0, 4)[:, None] * 16 + tl.arange(0, 16)[None, :]
    tl.store(OUT + c, y + c)


@triton.jit
def ex_view(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """reshape"""
    c = tl.arange(0, 4)[:, None] * 2 + tl.arange(0, 2)[None, :]
    tl.store(OUT + c, tl.load(X + tl.arange(0, 8)).view(4, 2))


@triton.jit
def ex_ravel(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """one dimension"""
    r = tl.arange(0, 8)[:, None] * 8 + tl.arange(0, 8)[None, :]
    x = tl.load(X + r)
    tl.store(OUT + tl.arange(0, 64), tl.ravel(x))


@triton.jit
def ex_broadcast_to(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """repetition along dimensions of size 1"""
    r = tl.arange(0, 8)[:, None] * 8 + tl.arange(0, 8)[None, :]
    x = tl.load(X + r)
    tl.store(OUT + r, tl.broadcast_to(tl.load(Y + tl.arange(0, 8))[None, :], (8, 8)) + x)


@triton.jit
def ex_broadcast(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """two blocks in their common shape"""
    a, b = tl.broadcast(tl.arange(0, 4)[:, None], tl.arange(0, 4)[None, :])
    tl.store(IOUT + a * 4 + b, a - b)


@triton.jit
def ex_expand_dims(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """a dimension of size 1"""
    a = tl.expand_dims(tl.arange(0, 4), 1)
    b = tl.expand_dims(tl.arange(0, 8), 0)
    tl.store(IOUT + a * 8 + b, a * b)


@triton.jit
def ex_permute(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """dimensions in another order"""
    a = tl.arange(0, 2)[:, None, None] * 32 + tl.arange(0, 4)[None, :, None] * 8 + tl.arange(0, 8)[None, None, :]
    x = tl.permute(tl.load(X + a), (2, 0, 1))
    b = tl.arange(0, 8)[:, None, None] * 8 + tl.arange(0, 2)[None, :, None] * 4 + tl.arange(0, 4)[None, None, :]
    tl.store(OUT + b, x)


@triton.jit
def ex_trans(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """the last two dimensions exchanged; `x.T`"""
    r = tl.arange(0, 8)[:, None] * 8 + tl.arange(0, 8)[None, :]
    x = tl.load(X + r)
    tl.store(OUT + r, tl.trans(x) + x.T)


@triton.jit
def ex_join(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """a new last dimension of size 2"""
    r = tl.arange(0, 8)
    both = tl.join(tl.load(X + r), tl.load(Y + r))
    tl.store(OUT + r[:, None] * 2 + tl.arange(0, 2)[None, :], both)


@triton.jit
def ex_split(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """the two halves of a last dimension of size 2"""
    r = tl.arange(0, 8)
    a, b = tl.split(tl.load(X + r[:, None] * 2 + tl.arange(0, 2)[None, :]))
    tl.store(OUT + r, a * 2 + b)


@triton.jit
def ex_interleave(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """elements of two blocks in turn"""
    r = tl.arange(0, 8)
    tl.store(OUT + tl.arange(0, 16), tl.interleave(tl.load(X + r), tl.load(Y + r)))


@triton.jit
def ex_cat(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """one block after the other"""
    r = tl.arange(0, 8)
    both = tl.cat(tl.load(X + r), tl.load(Y + r), can_reorder=True)
    tl.store(OUT + tl.arange(0, 16), both)


@triton.jit
def ex_gather(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """elements picked by index"""
    r = tl.arange(0, 16)
    tl.store(OUT + r, tl.gather(tl.load(X + r), (r * 5 + 3) % 16, 0))


@triton.jit
def ex_flip(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """the reverse order along a dimension"""
    r = tl.arange(0, 16)
    tl.store(OUT + r, tl.flip(tl.load(X + r), 0))


@triton.jit
def ex_item(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """the one element of a block as a scalar"""
    x = tl.load(X + tl.arange(0, 1))
    total = tl.sum(tl.load(I + tl.arange(0, N)[None, :]), axis=1)
    tl.store(OUT + tl.program_id(0), x.item() + 1)
    tl.store(IOUT + total.item() % 16, total[None, :].item())
