// tools/bench/Work.h - what attention cannot do without.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/ModelConfig.h"

#include <cstdint>
#include <string>

namespace tessera::bench {

// Pairs of a query and a key that it sees, of one head, in one causal sequence
// of `tokens` tokens; docs/nsa.md defines what is seen.
double densePairs(int64_t tokens);
double compressedPairs(const models::NsaGeometry &nsa, int64_t tokens);
double selectedPairs(const models::NsaGeometry &nsa, int64_t tokens);
double windowPairs(const models::NsaGeometry &nsa, int64_t tokens);

// Operations of matrix products, two for each multiply and add, that a kernel
// of ours needs for one sequence: those of pairs that are seen, with whatever
// it computes again. 0 for kernels without products and for others.
double kernelFlop(const std::string &kernel, const models::ModelConfig &config,
                  int64_t tokens);

// Returns the same for attention in any implementation: two products for each
// pair forward, five backward. Recomputed scores do not count.
double nsaFlop(const models::ModelConfig &config, int64_t tokens,
               bool backward);
double denseFlop(const models::ModelConfig &config, int64_t tokens,
                 bool backward);

} // namespace tessera::bench
