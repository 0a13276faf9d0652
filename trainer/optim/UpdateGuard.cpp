// trainer/optim/UpdateGuard.cpp - z-scores of loss and gradient norm over a
// window of steps.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/optim/UpdateGuard.h"

#include "trainer/settings/Config.h"

#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <numeric>

namespace tessera::trainer {
namespace {

/// Returns how many standard deviations `value` is above the mean of `values`;
/// 0 if there are fewer than guardStart values or all are equal.
double score(const std::vector<double> &values, double value) {
  if (values.size() < guardStart)
    return 0;
  const double count = double(values.size());
  const double mean =
      std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double v : values)
    squares += (v - mean) * (v - mean);
  const double deviation = std::sqrt(squares / count);
  return deviation > 0 ? (value - mean) / deviation : 0;
}

void remember(std::vector<double> &values, double value) {
  if (std::isfinite(value))
    values.push_back(value);
  if (int64_t(values.size()) > guardWindow)
    values.erase(values.begin());
}

} // namespace

nlohmann::json toJson(const UpdateHistory &h) {
  return {{"losses", h.losses}, {"norms", h.norms}, {"skipped", h.skipped}};
}

UpdateHistory historyFromJson(const nlohmann::json &json) {
  if (json.is_null())
    return {};
  return {json.at("losses").get<std::vector<double>>(),
          json.at("norms").get<std::vector<double>>(),
          json.at("skipped").get<std::vector<int64_t>>()};
}

std::string recordAndJudge(const Config &config, UpdateHistory &history,
                           int64_t step, double loss, double norm) {
  std::string fault;
  const auto judge = [&](const char *name, std::vector<double> &values,
                         double value) {
    const double z = score(values, value);
    if (fault.empty() && !std::isfinite(value))
      fault = fmt::format("the {} is not finite", name);
    else if (fault.empty() && config.skipScore > 0 && z > config.skipScore)
      fault = fmt::format("the {} is {:.1f} standard deviations above its mean",
                          name, z);
    remember(values, value);
  };
  judge("loss", history.losses, loss);
  judge("gradient norm", history.norms, norm);
  std::erase_if(history.skipped,
                [&](int64_t s) { return s <= step - guardWindow; });
  if (!fault.empty())
    history.skipped.push_back(step);
  return fault;
}

bool budgetSpent(const Config &config, const UpdateHistory &history) {
  return int64_t(history.skipped.size()) > config.skipBudget;
}

} // namespace tessera::trainer
