// bench/cost/Launches.h - launches of our kernels that stand in for published
// ones.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Kernel.h"

#include <map>
#include <string>
#include <vector>

namespace tessera::bench {

// A tensor argument: its type, elements, and how many of them a published
// kernel would have (K and V of a KV head, not of each query head).
struct Tensor {
  DType type = DType::BF16;
  int64_t elements = 0;
  int64_t published = -1; // elements; -1: as many
};

// How blocks follow one another: tiles of tokens from the first or from the
// last one along x, heads along y; or heads along x.
enum class Order { TokensUp, TokensDown, HeadsFirst };

// One kernel at one length.
struct Launch {
  std::string file, kernel;
  Constexprs constexprs = {};
  int64_t warps = 4, stages = 2;
  Order order = Order::TokensUp;
  Grid grid = {1, 1, 1};
  std::map<std::string, Tensor> tensors = {};
  std::map<std::string, Arg> scalars = {};

  double bytes() const; // of the published kernel's tensors
};

// Geometry: 64 query heads, 4 KV heads, head size 128, compression blocks of
// 32 with stride 16, 16 selected blocks of 64; batch 1, bf16.
inline constexpr int64_t heads = 64, kvHeads = 4, headSize = 128;
inline constexpr int64_t compressed(int64_t tokens) {
  return tokens < 32 ? 0 : (tokens - 32) / 16 + 1;
}

// One tile is of tokens of one query head, as in the published kernels: as if
// every query head had a KV head of its own.
Launch denseForward(int64_t tokens, int64_t bm, int64_t bn, int64_t warps,
                    int64_t stages);
Launch compressedForward(int64_t tokens, int64_t bm, int64_t bn, int64_t warps,
                         int64_t stages);
std::vector<Launch> compressedBackward(int64_t tokens);
// One tile is of the query heads of one token.
Launch selectedForward(int64_t tokens, int64_t warps, int64_t stages);
Launch gateForward(int64_t tokens);
Launch compressForward(int64_t tokens);

} // namespace tessera::bench
