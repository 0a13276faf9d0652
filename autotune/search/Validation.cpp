// autotune/search/Validation.cpp - compares predictions with published times.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/Validation.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tessera::tune {

namespace {

// The range of a constant.
struct Range {
  double CostConstants::*constant;
  double low, high;
};
constexpr Range ranges[numCostConstants] = {
    {&CostConstants::serial, 0.02, 1},
    {&CostConstants::issueCycles, 1, 20},
    {&CostConstants::latency, 0.5, 5},
    {&CostConstants::tensorShare, 0.3, 1},
    {&CostConstants::memoryShare, 0.3, 1.5}};

double loss(const std::vector<const PublishedTime *> &rows,
            const CostConstants &constants) {
  double sum = 0;
  for (const PublishedTime *row : rows)
    sum += std::abs(std::log(predicted(*row, constants) / row->microseconds));
  return sum / double(rows.size());
}

CostConstants fitFrom(CostConstants best,
                      const std::vector<const PublishedTime *> &rows) {
  double least = loss(rows, best);
  // Factors that shrink until a step changes the constant by at most 1%.
  for (double factor = 1.6; factor > 1.01; factor = std::sqrt(factor)) {
    bool better = true;
    for (int turn = 0; better && turn < 6; ++turn) {
      better = false;
      for (const Range &range : ranges)
        for (double step : {factor, 1 / factor}) {
          CostConstants other = best;
          double &value = other.*range.constant;
          value = std::clamp(value * step, range.low, range.high);
          const double error = loss(rows, other);
          if (error < least - 1e-9) {
            least = error;
            best = other;
            better = true;
          }
        }
    }
  }
  return best;
}

// Returns the best of searches that start a quarter, half and three quarters of
// the way through every range, on a logarithmic scale, because one search may
// end in a local minimum.
CostConstants fit(const std::vector<const PublishedTime *> &rows) {
  CostConstants best;
  double least = std::numeric_limits<double>::infinity();
  for (const double part : {0.25, 0.5, 0.75}) {
    CostConstants start;
    for (const Range &range : ranges)
      start.*range.constant =
          range.low * std::pow(range.high / range.low, part);
    const CostConstants found = fitFrom(start, rows);
    if (const double error = loss(rows, found); error < least) {
      least = error;
      best = found;
    }
  }
  return best;
}

} // namespace

double predicted(const PublishedTime &row, const CostConstants &constants) {
  double sum = 0;
  for (const LaunchProfile &launch : row.launches)
    sum += predict(launch, findGpu(row.gpu), constants).microseconds;
  return sum;
}

CostConstants fitConstants(const std::vector<PublishedTime> &rows) {
  std::vector<const PublishedTime *> all;
  for (const PublishedTime &row : rows)
    all.push_back(&row);
  return fit(all);
}

std::vector<double> leaveOneKernelOut(const std::vector<PublishedTime> &rows) {
  std::map<std::string, CostConstants> without;
  for (const PublishedTime &row : rows)
    without.try_emplace(row.kernel);
  for (auto &[kernel, constants] : without) {
    std::vector<const PublishedTime *> others;
    for (const PublishedTime &row : rows)
      if (row.kernel != kernel)
        others.push_back(&row);
    constants = fit(others);
  }
  std::vector<double> values;
  for (const PublishedTime &row : rows)
    values.push_back(predicted(row, without.at(row.kernel)));
  return values;
}

double medianError(const std::vector<PublishedTime> &rows,
                   const std::vector<double> &values, int64_t maxTokens) {
  std::vector<double> errors;
  for (size_t i = 0; i < rows.size(); ++i)
    if (rows[i].tokens <= maxTokens)
      errors.push_back(std::abs(values[i] / rows[i].microseconds - 1));
  if (errors.empty())
    return 0;
  std::sort(errors.begin(), errors.end());
  const size_t half = errors.size() / 2;
  return errors.size() % 2 ? errors[half]
                           : (errors[half - 1] + errors[half]) / 2;
}

double kendallTau(const std::vector<PublishedTime> &rows,
                  const std::vector<double> &values) {
  double agree = 0, ours = 0, theirs = 0;
  for (size_t i = 0; i < rows.size(); ++i)
    for (size_t k = 0; k < i; ++k) {
      if (rows[i].gpu != rows[k].gpu || rows[i].tokens != rows[k].tokens)
        continue;
      const double a = rows[i].microseconds - rows[k].microseconds;
      const double b = values[i] - values[k];
      agree += a * b > 0 ? 1 : a * b < 0 ? -1 : 0;
      ours += b != 0;
      theirs += a != 0;
    }
  return ours > 0 && theirs > 0 ? agree / std::sqrt(ours * theirs) : 0;
}

} // namespace tessera::tune
