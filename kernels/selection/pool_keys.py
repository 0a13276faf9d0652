# kernels/selection/pool_keys.py - one key for each block of tokens: the mean or the maximum of the block's keys.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl
from kernels.tiles import find_tile


# tessera: types("K POOL: *TYPE:16", "CU: *i32:16", "nseq: i32", "s*: i32:16")
# tessera: instance pool_keys_d64_f32(TYPE="fp32", BLOCK=64, BP=64, D=64, DP=64, MAX=0)
# tessera: instance pool_keys_d128_bf16(TYPE="bf16", BLOCK=64, BP=64, D=128, DP=128, MAX=0)
# tessera: grid(T // BLOCK + B, H)
@triton.autotune(configs=[triton.Config({}, num_warps=4)], key=["BLOCK", "D"])
@triton.jit(do_not_specialize=["nseq"])
def pool_keys(K, POOL, CU, nseq, skt, skh, spt, sph, BLOCK: tl.constexpr, BP: tl.constexpr, D: tl.constexpr, DP: tl.constexpr,
              MAX: tl.constexpr):
    """One block of BLOCK tokens of one key/value head: POOL [tiles(T, BLOCK), H, D] gets the mean of its keys, or with MAX the largest
    value of each channel. The last block of a sequence has the tokens that are left; an empty one is not stored. MoBA (Lu et al.
    2025), equation 6, uses the mean."""
    _, start, length, first = find_tile(CU, nseq, tl.program_id(0), BLOCK)
    if first >= length:
        return
    group = tl.program_id(1).to(tl.int64)
    rel = tl.arange(0, BP)
    d = tl.arange(0, DP)
    count = tl.minimum(BLOCK, length - first)
    live = (rel < count)[:, None] & (d < D)[None, :]
    keys = K + (start + first).to(tl.int64) * skt + group * skh
    k = tl.load(keys + (rel * skt)[:, None] + d[None, :], mask=live, other=float("-inf") if MAX else 0.0).to(tl.float32)
    if MAX:
        pooled = tl.max(k, 0)
    else:
        pooled = tl.sum(k, 0) / count
    tl.store(POOL + tl.program_id(0).to(tl.int64) * spt + group * sph + d, pooled.to(POOL.dtype.element_ty), mask=d < D)
