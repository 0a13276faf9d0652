# docs/compiler/passes_kernel.py - the kernel whose loop scripts/pass-page follows through the passes.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl


# tessera: types("Q K V: *bf16:16", "O: *fp32:16")
# tessera: instance page(D=64, BM=64, BN=32)
@triton.jit
def linear_attention(Q, K, V, O, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """O = (Q K^T where the key is not behind the query) V; a program has BM queries."""
    start = tl.program_id(0) * BM
    rows = start + tl.arange(0, BM)
    cols = tl.arange(0, BN)
    dims = tl.arange(0, D)
    q = tl.load(Q + rows[:, None] * D + dims[None, :])
    acc = tl.zeros((BM, D), tl.float32)
    for n in range(0, start + BM, BN):
        keys = n + cols
        k = tl.load(K + keys[None, :] * D + dims[:, None])
        v = tl.load(V + keys[:, None] * D + dims[None, :])
        s = tl.dot(q, k)
        s = tl.where(keys[None, :] <= rows[:, None], s, 0.0)
        acc = tl.dot(s.to(tl.bfloat16), v, acc)
    tl.store(O + rows[:, None] * D + dims[None, :], acc)
