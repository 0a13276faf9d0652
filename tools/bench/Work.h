// tools/bench/Work.h - the operations that attention requires.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/ModelConfig.h"

#include <cstdint>
#include <string>

namespace tessera::bench {

// Return the number of unmasked pairs of a query and a key, for one head and
// one causal sequence of `tokens` tokens; docs/nsa.md defines the masks.
double densePairs(int64_t tokens);
double compressedPairs(const models::NsaGeometry &nsa, int64_t tokens);
double selectedPairs(const models::NsaGeometry &nsa, int64_t tokens);
double windowPairs(const models::NsaGeometry &nsa, int64_t tokens);

// Returns the operations of matrix products, two for each multiply and add,
// that one of our kernels needs for one sequence: those of unmasked pairs and
// its recomputed products. Returns 0 for kernels without products and for
// unknown kernels.
double kernelFlop(const std::string &kernel, const models::ModelConfig &config,
                  int64_t tokens);

// Returns the same for attention in any implementation: two products for each
// pair forward, five backward. Recomputed scores do not count.
double nsaFlop(const models::ModelConfig &config, int64_t tokens,
               bool backward);
double denseFlop(const models::ModelConfig &config, int64_t tokens,
                 bool backward);

} // namespace tessera::bench
