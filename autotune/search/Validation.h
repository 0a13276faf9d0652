// autotune/search/Validation.h - compares predictions with published times.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/model/CostModel.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace tessera::tune {

// A published time and the launches that reproduce its workload.
struct PublishedTime {
  std::string kernel, gpu; // a kernel and GPU are left out together
  int64_t tokens = 0;
  double microseconds = 0;
  double plain = 0; // plainBound()
  std::vector<LaunchProfile> launches;
};

double predicted(const PublishedTime &row, const CostConstants &constants);

// Returns the constants that minimize the mean |log(predicted / published)|.
// The search changes one constant at a time. It starts from fixed points of the
// constants' ranges, so that only `rows` decide the result.
CostConstants fitConstants(const std::vector<PublishedTime> &rows);

// Predicts each row with constants fitted to the rows of all other kernels.
// The rows of one kernel on several GPUs are left out together.
std::vector<double> leaveOneKernelOut(const std::vector<PublishedTime> &rows);

// Returns the median of |value / published - 1| over the rows of at most
// `maxTokens` tokens.
double medianError(const std::vector<PublishedTime> &rows,
                   const std::vector<double> &values,
                   int64_t maxTokens = std::numeric_limits<int64_t>::max());
// Returns Kendall's tau-b within each group of one GPU and length, averaged
// over the groups by their number of pairs; 1 if the predicted order equals the
// published order.
double kendallTau(const std::vector<PublishedTime> &rows,
                  const std::vector<double> &values);

} // namespace tessera::tune
