// tools/bench/Work.cpp - the operations that attention requires.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/Work.h"

#include <algorithm>
#include <map>

namespace tessera::bench {

using models::ModelConfig;
using models::NsaGeometry;

double densePairs(int64_t tokens) {
  return double(tokens) * double(tokens + 1) / 2;
}

double compressedPairs(const NsaGeometry &nsa, int64_t tokens) {
  double pairs = 0;
  for (int64_t t = 0; t < tokens; ++t)
    pairs += double(nsa.compressedCount(t + 1));
  return pairs;
}

double selectedPairs(const NsaGeometry &nsa, int64_t tokens) {
  double pairs = 0;
  for (int64_t t = 0; t < tokens; ++t) {
    const int64_t own = t / nsa.selectionLength;
    // The token's own block is always selected, and ends at the token.
    const int64_t others = std::min(nsa.selectedBlocks - 1, own);
    if (nsa.selectedBlocks > 0)
      pairs +=
          double(others * nsa.selectionLength + t % nsa.selectionLength + 1);
  }
  return pairs;
}

double windowPairs(const NsaGeometry &nsa, int64_t tokens) {
  const int64_t full = std::min(nsa.window, tokens);
  return densePairs(full) + double(tokens - full) * double(full);
}

double kernelFlop(const std::string &kernel, const ModelConfig &config,
                  int64_t tokens) {
  // Products for each pair: q k^T, p v; ds k, dp = do v^T; ds^T q, p^T do.
  struct Products {
    int keys, values;
  };
  static const std::map<std::string, Products> known = {
      {"dense_fwd", {1, 1}},
      {"cmp_fwd", {1, 1}},
      {"cmp_select_fwd", {1, 1}},
      {"window_fwd", {1, 1}},
      {"select_fwd", {1, 1}},
      {"select_list_fwd", {1, 1}},
      {"select_packed_fwd", {1, 1}},
      {"score_select", {1, 0}},
      {"dense_bwd", {3, 2}},
      {"dense_bwd_dq", {2, 1}},
      {"cmp_bwd_dq", {2, 1}},
      {"window_bwd_dq", {2, 1}},
      {"select_bwd_dq", {2, 1}},
      {"select_list_bwd_dq", {2, 1}},
      {"select_packed_bwd_dq", {2, 1}},
      {"dense_bwd_dkdv", {2, 2}},
      {"cmp_bwd_dkdv", {2, 2}},
      {"window_bwd_dkdv", {2, 2}},
      {"select_bwd_dkdv", {2, 2}}};
  const auto found = known.find(kernel);
  if (found == known.end())
    return 0;
  const auto starts = [&](const char *name) {
    return kernel.rfind(name, 0) == 0;
  };
  const double pairs = starts("dense")    ? densePairs(tokens)
                       : starts("window") ? windowPairs(config.nsa, tokens)
                       : starts("select") ? selectedPairs(config.nsa, tokens)
                                          : compressedPairs(config.nsa, tokens);
  return 2.0 * double(config.heads) * pairs *
         double(found->second.keys * config.keyDim +
                found->second.values * config.valueDim);
}

static double attentionFlop(const ModelConfig &config, double pairs,
                            bool backward) {
  const double keys = double(config.keyDim), values = double(config.valueDim);
  return 2.0 * double(config.heads) * pairs *
         (backward ? 3 * keys + 2 * values : keys + values);
}

double nsaFlop(const ModelConfig &config, int64_t tokens, bool backward) {
  return attentionFlop(config,
                       compressedPairs(config.nsa, tokens) +
                           selectedPairs(config.nsa, tokens) +
                           windowPairs(config.nsa, tokens),
                       backward);
}

double denseFlop(const ModelConfig &config, int64_t tokens, bool backward) {
  return attentionFlop(config, densePairs(tokens), backward);
}

} // namespace tessera::bench
