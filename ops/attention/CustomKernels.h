// ops/attention/CustomKernels.h - attention kernels of a user's file, bound by
// the names of their parameters.
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

// One kernel and where it was found.
struct NamedKernel {
  Kernel kernel;
  std::shared_ptr<const Description> description;

  bool has(const char *parameter) const { return description->has(parameter); }
  const std::string &name() const { return kernel.name(); }
};

// A forward kernel and its backward kernels: `bwd` itself, or all whose names
// begin with bwd and an underscore, in the order of the file. docs/training.md
// says what their parameters may be named.
struct CustomKernels {
  NamedKernel forward;
  std::vector<NamedKernel> backward;
  // The kernel named bwd where it takes `shares` and there are also kernels
  // bwd_...: all gradients in one pass, for the CPU (ops/Estimates.h).
  std::optional<NamedKernel> onePass;
  Constexprs constants; // "W=16, STEP=4"
  // Tensors [T, H*G] of fp32 of the caller's, slices [:, i, :] of one; the
  // gradient of GATE is DGATE.
  std::vector<std::string> learned;
  // Tensors [B] of int32 of the caller's: a value of each sequence.
  std::vector<std::string> perSequence;
  bool derived = false; // from the file of a pattern

  // Checks all parameters; kept per process. An empty bwd has no backward.
  // Throws Error.
  static std::shared_ptr<const CustomKernels>
  find(const std::string &file, const std::string &forward,
       const std::string &backward, const std::string &constants,
       const std::string &learned, const std::string &perSequence);

  // Launches one of them on tensors by name. DK and DV of onePass are fp32
  // [shares * T, H, width].
  void run(const NamedKernel &kernel, const Attention &a,
           const NamedTensors &tensors, int64_t shares = 1) const;
  bool backwardHas(const char *parameter) const;
};

} // namespace tessera::runtime
