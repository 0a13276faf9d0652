// trainer/data/SyntheticTokens.cpp - computes ranges of synthetic tokens and
// their entropy.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/SyntheticTokens.h"

#include "trainer/loop/Random.h"

#include <cmath>

namespace tessera::trainer {
namespace {

constexpr int64_t restart = 256;

int64_t successor(int64_t token, int64_t vocabulary) {
  return (token + 1 + vocabulary / 3) % vocabulary;
}

} // namespace

void SyntheticTokens::read(int64_t first, int64_t count, int64_t *out) const {
  // The first random number decides whether a token is drawn uniformly, the
  // second selects the token.
  const auto drawn = [&](int64_t place) {
    return place % restart == 0 ||
           randomUnit(seed, 2 * uint64_t(place)) < noise;
  };
  const auto uniform = [&](int64_t place) {
    return int64_t(
        randomBelow(seed, 2 * uint64_t(place) + 1, uint64_t(vocabulary)));
  };
  int64_t place = first;
  while (!drawn(place))
    --place;
  int64_t token = uniform(place);
  for (; place < first + count; ++place) {
    if (drawn(place))
      token = uniform(place);
    else
      token = successor(token, vocabulary);
    if (place >= first)
      *out++ = token;
  }
}

double SyntheticTokens::entropy() const {
  const double other = noise / double(vocabulary), next = 1 - noise + other;
  double bits = -next * std::log2(next);
  if (other > 0)
    bits -= double(vocabulary - 1) * other * std::log2(other);
  return bits;
}

} // namespace tessera::trainer
