// runtime/device/cuda/Results.h - classifies the driver's error codes.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tessera::runtime::cuda {

// Cause of an error, which determines the hint.
enum class Cause {
  Memory,   // GPU memory is exhausted
  Kernel,   // a kernel failed, and the context with it
  Lost,     // the GPU's hardware failed, and the context with it
  Code,     // the GPU or driver does not accept the code
  Driver,   // missing, old or broken
  Machine,  // the GPU, or what it is not allowed or able to do
  Busy,     // other programs use the GPU
  Capture,  // not allowed in a CUDA graph
  Shutdown, // the process is ending
  Defect,   // a call that this program should not make
};

// Returns the cause of a result; Machine for a result outside of the table.
Cause causeOf(int result);
// Returns the name of a result, "CUDA_ERROR_OUT_OF_MEMORY", or an empty string
// for an unknown one.
std::string nameOf(int result);
// Returns the hint for a result: what the user can do.
std::string hintOf(int result);

} // namespace tessera::runtime::cuda
