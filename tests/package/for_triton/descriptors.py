# tests/package/for_triton/descriptors.py - a module as people write it for Triton: kernels that take descriptors of the host.
# Nothing in it knows of tessera. SPDX-License-Identifier: Apache-2.0
import sys
from typing import NamedTuple

import torch

import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

DEVICE = torch.device("cpu")


@triton.jit
def copy_kernel(source, target, first, BM: tl.constexpr, BN: tl.constexpr):
    at = [tl.program_id(0) * BM + first, tl.program_id(1) * BN]
    target.store(at, source.load(at).to(target.dtype))


def copied(x, dtype, block, first=0, **options):
    """What blocks of x read as, also those past its end, with one more block in each direction."""
    grid = tuple(triton.cdiv(size, of_block) + 1 for size, of_block in zip(x.shape, block))
    y = torch.full([count * size for count, size in zip(grid, block)], 7, dtype=dtype, device=x.device)
    copy_kernel[grid](TensorDescriptor.from_tensor(x, block, **options), TensorDescriptor.from_tensor(y, block), first, *block)
    return y


@triton.jit
def volume_kernel(source, target, BZ: tl.constexpr, BX: tl.constexpr):
    at = (tl.program_id(0) * BZ, tl.program_id(1), 0)
    block = tl.load_tensor_descriptor(source, at)
    tl.store_tensor_descriptor(target, at, block + source.shape[0] * source.strides[0].to(tl.int32))
    tl.static_assert(source.block_shape[2] == BX)
    tl.static_assert(source.shape[1].dtype == tl.int32)
    tl.static_assert(source.strides[1].dtype == tl.int64)
    tl.static_assert(source.dtype == tl.int32)


def volume(x):
    y = torch.zeros_like(x)
    source, target = (TensorDescriptor(t, list(t.shape), list(t.stride()), [2, 1, 8]) for t in (x, y))
    volume_kernel[(triton.cdiv(x.shape[0], 2), x.shape[1])](source, target, 2, 8)
    return y


@triton.jit
def rows_kernel(source, target, order, COUNT: tl.constexpr):
    rows = tl.load(order + tl.arange(0, COUNT))
    target.scatter(source.gather(rows, 8), rows, 0)


def rows(x, order):
    y = torch.zeros(x.shape[0], 16, dtype=x.dtype, device=x.device)
    rows_kernel[(1, )](TensorDescriptor.from_tensor(x, [1, 16]), TensorDescriptor.from_tensor(y, [1, 16]), order, order.numel())
    return y


@triton.jit
def descriptor_of(descriptor_or_pointer, shape, strides, block_shape):
    if isinstance(descriptor_or_pointer, tl.tensor_descriptor):
        return descriptor_or_pointer
    return tl.make_tensor_descriptor(descriptor_or_pointer, shape, strides, block_shape)


class Pair(NamedTuple):
    left: TensorDescriptor
    right: TensorDescriptor


@triton.jit
def either_kernel(x, pair, out, bias, n, B: tl.constexpr):
    x = descriptor_of(x, [n], [1], [B])
    total = x.load([0])
    if pair is not None:
        total += pair.left.load([0]) - pair.right.load([2 * B])
    if bias is not None:
        total += bias.load([B])
    tl.store(out + tl.arange(0, B), total)


def either(x, described, pair, biased):
    out = torch.empty(16, device=x.device)
    descriptor = TensorDescriptor.from_tensor(x, [16])
    either_kernel[(1, )](descriptor if described else x, Pair(descriptor, descriptor) if pair else None, out,
                         descriptor if biased else None, x.numel(), 16)
    return out


def set_blocks(arguments):
    """The hook of a configuration: the shapes of the blocks, which are dummies until then."""
    bm, bn, bk = (arguments[name] for name in ("BM", "BN", "BK"))
    arguments["a"].block_shape = [bm, bk]
    arguments["b"].block_shape = [bn, bk]
    arguments["c"].block_shape = [bm, bn // 2] if arguments["HALVES"] else [bm, bn]


CONFIGS = [triton.Config({"BM": bm, "BN": 32, "BK": 16, "HALVES": halves}, num_stages=2, num_warps=4, pre_hook=set_blocks)
           for bm, halves in ((16, False), (32, True))]


@triton.jit
def product_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, HALVES: tl.constexpr,
                   PROGRAMS: tl.constexpr):
    columns = tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BM) * columns, PROGRAMS, flatten=True):
        m, n = tile // columns * BM, tile % columns * BN
        total = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(tl.cdiv(K, BK)):
            total = tl.dot(a.load([m, k * BK]), b.load([n, k * BK]).T, total)
        if HALVES:
            left, right = total.reshape((BM, 2, BN // 2)).permute((0, 2, 1)).split()
            c.store([m, n], left.to(c.dtype))
            c.store([m, n + BN // 2], right.to(c.dtype))
        else:
            c.store([m, n], total.to(c.dtype))


tuned = triton.autotune(configs=CONFIGS, key=["M", "N", "K"])(product_kernel)


def product(a, b, kernel=None, config=CONFIGS[0]):
    """a @ b.T by programs that take several tiles; autotuned, or with a configuration of a kernel."""
    (M, K), (N, _) = a.shape, b.shape
    c = torch.empty(M, N, dtype=a.dtype, device=a.device)
    dummy = [1, 1]
    arguments = [TensorDescriptor.from_tensor(t, dummy) for t in (a, b, c)]
    if kernel is None:
        tuned[lambda meta: (min(3, triton.cdiv(M, meta["BM"]) * triton.cdiv(N, meta["BN"])), )](*arguments, M, N, K, PROGRAMS=3)
    else:
        set_blocks(dict(zip("abc", arguments), **config.kwargs))
        kernel[(3, )](*arguments, M, N, K, PROGRAMS=3, **config.kwargs)
    return c


@triton.jit
def attend(total, sums, most, q, keys, values, first, last, rows, MASKED: tl.constexpr, BN: tl.constexpr):
    for start in range(first, last, BN):
        scores = tl.dot(q, keys.load([start, 0]).T)
        if MASKED:
            scores += tl.where(rows[:, None] >= start + tl.arange(0, BN)[None, :], 0, -1.0e6)
        higher = tl.maximum(most, tl.max(scores, 1))
        weights, kept = tl.math.exp2(scores - higher[:, None]), tl.math.exp2(most - higher)
        total = tl.dot(weights.to(values.dtype), values.load([start, 0]), total * kept[:, None])
        sums, most = sums * kept + tl.sum(weights, 1), higher
    return total, sums, most


@triton.jit
def attention_kernel(q, k, v, o, scale, T, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    q = descriptor_of(q, [T, D], [D, 1], [BM, D])
    k = descriptor_of(k, [T, D], [D, 1], [BN, D])
    v = descriptor_of(v, [T, D], [D, 1], [BN, D])
    o = descriptor_of(o, [T, D], [D, 1], [BM, D])
    first = tl.program_id(0) * BM
    rows = first + tl.arange(0, BM)
    total, sums, most = tl.zeros((BM, D), tl.float32), tl.zeros((BM, ), tl.float32), tl.full((BM, ), -1.0e6, tl.float32)
    query = (q.load([first, 0]) * (scale * 1.44269504)).to(q.dtype)
    total, sums, most = attend(total, sums, most, query, k, v, 0, first, rows, False, BN)
    total, sums, most = attend(total, sums, most, query, k, v, first, first + BM, rows, True, BN)
    o.store([first, 0], (total / sums[:, None]).to(o.dtype))


def attention(q, k, v, described):
    """Causal attention of one head, by descriptors of the host or of the kernel."""
    o = torch.empty_like(q)
    arguments = [TensorDescriptor.from_tensor(x, [32 if rows else 16, 32]) for x, rows in ((q, 1), (k, 0), (v, 0), (o, 1))]
    attention_kernel[(triton.cdiv(len(q), 32), )](*(arguments if described else (q, k, v, o)), 0.2, len(q), 32, 16, 32)
    return o


def results():
    """Name and tensor of everything that the interpreter of Triton runs, too."""
    torch.manual_seed(0)
    x = torch.randn(21, 24, device=DEVICE)
    yield "copied", copied(x, torch.float32, [8, 16])
    yield "at an offset", copied(x, torch.float32, [4, 8], first=-3)
    yield "NaN", copied(x, torch.float32, [8, 16], padding="nan")
    yield "half", copied(x.half(), torch.float32, [16, 8], padding="nan")
    special = torch.tensor([float("inf"), float("nan"), 1 + 2**-11, 1 + 3 * 2**-11, -1e-30, 3.4e38, 0.1, -0.0] * 2, device=DEVICE)
    yield "tf32", copied(torch.stack([special] + [torch.randn(16, device=DEVICE) * 10**k for k in range(-3, 4)]), torch.float32,
                         [8, 16], round_f32_to_tf32=True)
    yield "bytes", copied(torch.arange(-60, 68, dtype=torch.int8, device=DEVICE).view(4, 32), torch.int32, [4, 16])
    yield "one row", copied(x[:1], torch.float32, [1, 4])
    yield "part", copied(x[3:9, 4:20], torch.float32, [4, 8])
    yield "volume", volume(torch.arange(3 * 4 * 8, dtype=torch.int32, device=DEVICE).view(3, 4, 8))
    yield "rows", rows(x, torch.tensor([20, 3, 0, 7, 19, 1, 2, 11], dtype=torch.int32, device=DEVICE))
    for described in (True, False):
        for pair, biased in ((False, True), (True, False), (True, True)):
            yield f"either {described} {pair} {biased}", either(torch.arange(40., device=DEVICE), described, pair, biased)
    a, b = torch.randn(40, 56, device=DEVICE).half(), torch.randn(72, 56, device=DEVICE).half()
    for number, config in enumerate(CONFIGS):
        yield f"product {number}", product(a, b, product_kernel, config)
    q, k, v = (torch.randn(80, 32, device=DEVICE).half() for _ in range(3))
    for described in (True, False):
        yield f"attention {described}", attention(q, k, v, described)


if __name__ == "__main__":
    torch.save(dict(results()), sys.argv[1])
