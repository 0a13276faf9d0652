# tests/python/shared_sums_test.py - offsets that are sums of the same values, with 2^40 paths to the first of them.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""An analysis that follows both operands of each sum would not end."""
import tessera
import tessera.language as tl
import torch


@tessera.jit
def doubled(X, OUT, N: tl.constexpr, TIMES: tl.constexpr):
    at = tl.arange(0, N)
    zero = at
    for _ in tl.static_range(0, TIMES):          # 2^TIMES * at, which is 0 from 32 on
        zero = zero + zero
    mask = at + zero < N - 1
    tl.store(OUT + at + zero, tl.load(X + at + zero, mask=mask, other=-1.0))
    tl.store(OUT + N + at + zero, tl.load(OUT + (N - 1 - at) + zero), mask=at * (zero + 1) >= zero)


def test_doubled_offsets():
    x, out = torch.arange(128, dtype=torch.float32), torch.zeros(256)
    doubled[(1,)](x, out, N=128, TIMES=40, num_warps=4)
    once = torch.cat((x[:-1], torch.tensor([-1.0])))
    assert torch.equal(out, torch.cat((once, once.flip(0))))
