// tests/author/Matmul.h - a kernel with a dot in a loop, for tests of GPU code.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tessera {

// Its decorator's configurations: the second is the larger one.
inline const std::string matmulConfigs =
    R"(@triton.autotune(configs=[triton.Config({"BM": 32, "BN": 32, "BK": 32}, num_warps=4, num_stages=2),
                          triton.Config({"BM": 64, "BN": 64, "BK": 64}, num_warps=4, num_stages=3)], key=["K"])
)";

// Line 7 of it is the loop, 10 the dot.
inline const std::string matmulKernel = R"(@triton.jit
def matmul(A, B, C, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i = tl.arange(0, BM)
    j = tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(0, K, BK):
        a = tl.load(A + i[:, None] * K + (k0 + k)[None, :])
        b = tl.load(B + (k0 + k)[:, None] * BN + j[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(C + i[:, None] * BN + j[None, :], acc)
)";

} // namespace tessera
