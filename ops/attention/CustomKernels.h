// ops/attention/CustomKernels.h - attention kernels of a user's file, bound by
// their parameters' names.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/attention/Attention.h"
#include "runtime/launch/Describe.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera::runtime {

using NamedTensors = std::map<std::string, at::Tensor>;

// A kernel and its place in the file.
struct NamedKernel {
  Kernel kernel;
  std::shared_ptr<const Description> description;

  bool has(const char *parameter) const { return description->has(parameter); }
  const std::string &name() const { return kernel.name(); }
};

// A forward kernel and its backward kernels: `bwd` alone, or all kernels whose
// names begin with bwd and an underscore, in file order. docs/training.md lists
// the allowed parameter names.
struct CustomKernels {
  NamedKernel forward;
  std::vector<NamedKernel> backward;
  // The kernel named bwd if it takes `shares` and kernels bwd_... exist, too.
  // It computes all gradients in one pass, for the CPU (ops/Estimates.h).
  std::optional<NamedKernel> onePass;
  Constexprs constants; // "W=16, STEP=4"
  // Names of the caller's fp32 tensors [T, H*G], slices [:, i, :] of one
  // tensor; the gradient of GATE is DGATE.
  std::vector<std::string> learned;
  // Names of the caller's int32 tensors [B]: one value per sequence.
  std::vector<std::string> perSequence;
  bool derived = false; // from the file of a pattern

  // Finds the kernels and checks all parameters. Results are cached per
  // process. An empty bwd means no backward pass. Throws Error.
  static std::shared_ptr<const CustomKernels>
  find(const std::string &file, const std::string &forward,
       const std::string &backward, const std::string &constants,
       const std::string &learned, const std::string &perSequence);

  // Launches one of the kernels on tensors by name. DK and DV of onePass are
  // fp32 [shares * T, H, width].
  void run(const NamedKernel &kernel, const Attention &a,
           const NamedTensors &tensors, int64_t shares = 1) const;
  bool backwardHas(const char *parameter) const;
};

} // namespace tessera::runtime
