// autotune/Validation.h - predictions next to published times.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/CostModel.h"

#include <string>
#include <vector>

namespace tessera::tune {

// A published time with the launches that stand for it.
struct PublishedTime {
  std::string kernel, gpu; // a kernel of one GPU is left out as a whole
  int64_t tokens = 0;
  double microseconds = 0;
  double plain = 0; // plainBound()
  std::vector<LaunchProfile> launches;
};

double predicted(const PublishedTime &row, const CostConstants &constants);

// The constants of the least mean |log(predicted / published)|, by a search
// along each of them in turn. The same rows give the same constants.
CostConstants fitConstants(const std::vector<PublishedTime> &rows,
                           CostConstants start = {});

// Of each row with constants fitted to the rows of all other kernels, a kernel
// on another GPU being another row of the same kernel: it is left out, too.
std::vector<double> leaveOneKernelOut(const std::vector<PublishedTime> &rows,
                                      const CostConstants &start);

// Median of |value / published - 1|.
double medianError(const std::vector<PublishedTime> &rows,
                   const std::vector<double> &values);
// Kendall's tau-b among the rows of one GPU and length, averaged over these
// groups by their number of pairs: 1 where the order is that of the times.
double kendallTau(const std::vector<PublishedTime> &rows,
                  const std::vector<double> &values);

} // namespace tessera::tune
