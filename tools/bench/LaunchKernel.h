// tools/bench/LaunchKernel.h - a kernel of 16 arguments that does nothing, to
// measure the cost of a launch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tessera {

// Has as many arguments and constexprs as the attention kernels. The first five
// are those of tests/unit/runtime/device/fake_cuda.c.
inline constexpr const char *launchKernel = R"(import triton
import triton.language as tl


# tessera: cpu(BM=64)
@triton.jit(do_not_specialize=["n"])
def add(x, y, n, s, wide, lse, cu, T, sqt, sqh, skt, skh, svt, svh, sot, soh,
        G: tl.constexpr, W: tl.constexpr, D: tl.constexpr, DP: tl.constexpr,
        E: tl.constexpr, EP: tl.constexpr, BM: tl.constexpr):
    if n > 0:
        tl.store(y, tl.load(x) + s)
)";

} // namespace tessera
