// trainer/loop/KernelCheck.h - compiled kernels next to plain torch during a
// run.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/ComparedKernels.h"

#include <string>

namespace tessera::trainer {

struct Config;

/// The largest difference that rounding explains in the run's precision, of an
/// operation or of "loss" and "blocks" (models/ComparedKernels.h).
double largestDifference(const Config &config, const std::string &operation);

/// Which operations differ by more than that, with their figures; empty: none.
std::string kernelFault(const Config &config,
                        const models::KernelDifferences &differences);

} // namespace tessera::trainer
