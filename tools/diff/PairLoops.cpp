// tools/diff/PairLoops.cpp - pairs the loops of two kernels.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/PairLoops.h"

#include <algorithm>
#include <cmath>

namespace tessera::tools {
namespace {

// Loops whose sizes differ by a larger ratio are not counterparts: one may
// contain the other. The limit allows unrolling by four.
constexpr double mostRatio = 5;
// Loops without common source lines must have instruction mixes at least this
// similar to be paired.
constexpr double leastMix = 0.5;

double countOf(const Json &loop, const char *name) {
  const auto counts = loop.find("instructions");
  return counts == loop.end() ? 0 : double(counts->value(name, int64_t(0)));
}

// Returns the cosine of the two instruction mixes, from 0 to 1.
double cosine(const Json &a, const Json &b) {
  double product = 0, left = 0, right = 0;
  const Json none = Json::object();
  const Json &x = a.contains("instructions") ? a["instructions"] : none;
  const Json &y = b.contains("instructions") ? b["instructions"] : none;
  for (const auto &[name, count] : x.items())
    if (name != "total") {
      left += std::pow(count.get<double>(), 2);
      product += count.get<double>() * double(y.value(name, int64_t(0)));
    }
  for (const auto &[name, count] : y.items())
    if (name != "total")
      right += std::pow(count.get<double>(), 2);
  return left > 0 && right > 0 ? product / std::sqrt(left * right) : 0;
}

// Returns the ratio of the source lines of both loops to those of either loop.
double sharedLines(const Json &a, const Json &b) {
  const auto range = [](const Json &loop) {
    const Json lines = loop.value("lines", Json());
    return lines.is_array() && lines.size() == 2
               ? std::pair(lines[0].get<double>(), lines[1].get<double>())
               : std::pair(0.0, -1.0);
  };
  const auto [begin, end] = range(a);
  const auto [other, last] = range(b);
  if (end < begin || last < other)
    return 0;
  const double both = std::min(end, last) - std::max(begin, other) + 1;
  return std::max(both, 0.0) /
         (std::max(end, last) - std::min(begin, other) + 1);
}

// Returns the similarity of two loops; 0 if they are not the same loop.
double likeness(const Json &a, const Json &b) {
  const double x = countOf(a, "total"), y = countOf(b, "total");
  const double lines = sharedLines(a, b);
  if (std::max(x, y) > mostRatio * std::min(x, y) && lines < 1)
    return 0;
  const double mix = cosine(a, b);
  if (mix < leastMix && lines == 0)
    return 0;
  return mix + std::min(x, y) / std::max({x, y, 1.0}) + lines;
}

// Pairs a[i0, i1) with b[j0, j1) in order, such that the sum of the
// similarities is largest.
void align(const std::vector<Json> &a, size_t i0, size_t i1,
           const std::vector<Json> &b, size_t j0, size_t j1,
           std::vector<LoopPair> &pairs) {
  const size_t rows = i1 - i0, columns = j1 - j0;
  // best[i][j]: the largest sum for a's loops from i and b's loops from j.
  std::vector<std::vector<double>> best(rows + 1,
                                        std::vector<double>(columns + 1, 0));
  const auto together = [&](size_t i, size_t j) {
    const double alike = likeness(a[i0 + i], b[j0 + j]);
    return alike > 0 ? alike + best[i + 1][j + 1] : -1;
  };
  for (size_t i = rows; i-- > 0;)
    for (size_t j = columns; j-- > 0;)
      best[i][j] = std::max({best[i + 1][j], best[i][j + 1], together(i, j)});
  size_t i = 0, j = 0;
  while (i < rows || j < columns) {
    const bool left = i < rows, right = j < columns;
    if (left && right && together(i, j) >= best[i][j])
      pairs.push_back({i0 + i++, j0 + j++});
    else if (left && (!right || best[i + 1][j] >= best[i][j]))
      pairs.push_back({i0 + i++, std::nullopt});
    else
      pairs.push_back({std::nullopt, j0 + j++});
  }
}

} // namespace

std::optional<size_t> mainLoop(const std::vector<Json> &loops) {
  const auto most = std::max_element(
      loops.begin(), loops.end(), [](const Json &x, const Json &y) {
        return countOf(x, "mma") < countOf(y, "mma");
      });
  if (most == loops.end() || countOf(*most, "mma") == 0)
    return std::nullopt;
  return size_t(most - loops.begin());
}

std::vector<LoopPair> pairLoops(const std::vector<Json> &a,
                                const std::vector<Json> &b) {
  std::vector<LoopPair> pairs;
  const auto one = mainLoop(a), other = mainLoop(b);
  if (!one || !other) {
    align(a, 0, a.size(), b, 0, b.size(), pairs);
    return pairs;
  }
  align(a, 0, *one, b, 0, *other, pairs);
  pairs.push_back({one, other});
  align(a, *one + 1, a.size(), b, *other + 1, b.size(), pairs);
  return pairs;
}

} // namespace tessera::tools
