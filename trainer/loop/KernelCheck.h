// trainer/loop/KernelCheck.h - judges the differences between compiled kernels
// and plain torch during a run.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/ComparedKernels.h"

#include <string>

namespace tessera::trainer {

struct Config;

/// Returns the tolerance of an operation, of "loss" or of "blocks"
/// (models/ComparedKernels.h): the largest difference that rounding in the
/// run's precision can cause.
double largestDifference(const Config &config, const std::string &operation);

/// Returns the operations that exceed largestDifference(), with their
/// differences; empty if none does.
std::string kernelFault(const Config &config,
                        const models::KernelDifferences &differences);

} // namespace tessera::trainer
