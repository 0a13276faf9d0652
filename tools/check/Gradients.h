// tools/check/Gradients.h - backward kernels against finite differences.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/check/Problem.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tessera::tools {

using DescriptionPtr = std::shared_ptr<const Description>;

struct GradientCheck {
  DescriptionPtr kernel, reference;
  std::vector<DescriptionPtr> backward; // run in this order
  std::vector<std::string> outputs;     // tensors that the forward writes
};

struct GradientResult {
  Difference difference;
  std::string place; // of the first wrong element, "[3, 0, 1]"; or in words
};

// What the forward and the backward kernels wrote on one problem.
struct BackwardRun {
  Tensors forward;  // inputs and outputs of the forward kernel
  Tensors upstream; // the gradients of the outputs, random
  Tensors tensors;  // all, with the gradients of the inputs
};

// Runs the kernel and its backward kernels. Gradients are not numbers before,
// and have the types of their inputs, or `type` for the names in `wide`.
BackwardRun runBackward(const GradientCheck &check, const Problem &problem,
                        const std::vector<std::string> &wide = {},
                        DType type = DType::FP32);

// Names of the gradients that the backward kernels write, DX for each X that
// the forward reads. Throws Error when they cannot be told.
std::vector<std::string> gradientNames(const GradientCheck &check);

// Runs forward and backward, and the reference in fp64 on shifted inputs:
// central differences of sum(O * DO) for some elements of every input, and
// along random directions over all of them. By name of the gradient. Throws
// Error when the reference does not compile for fp64.
std::map<std::string, GradientResult> checkGradients(const GradientCheck &check,
                                                     const Problem &problem,
                                                     double limit);

} // namespace tessera::tools
