// tools/check/Gradients.h - compares backward kernels with finite differences.
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

// Tensors that the forward and the backward kernels wrote for one problem.
struct BackwardRun {
  Tensors forward;  // inputs and outputs of the forward kernel
  Tensors upstream; // the gradients of the outputs, random
  Tensors tensors;  // all, with the gradients of the inputs
};

// Runs the kernel and its backward kernels. Gradients start as NaN and have the
// types of their inputs, or `type` for the names in `wide`.
BackwardRun runBackward(const GradientCheck &check, const Problem &problem,
                        const std::vector<std::string> &wide = {},
                        DType type = DType::FP32);

// Returns the names of the gradients that the backward kernels write: DX for
// each X that the forward kernel reads. Throws Error if they cannot be
// determined.
std::vector<std::string> gradientNames(const GradientCheck &check);

// Runs forward and backward kernels, and the reference in fp64 on shifted
// inputs. Compares central differences of sum(O * DO) for some elements of
// every input, and along random directions over all elements. Returns results
// by gradient name. Throws Error if the reference does not compile for fp64.
std::map<std::string, GradientResult> checkGradients(const GradientCheck &check,
                                                     const Problem &problem,
                                                     double limit);

} // namespace tessera::tools
