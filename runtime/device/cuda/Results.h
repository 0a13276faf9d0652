// runtime/device/cuda/Results.h - what the driver's errors mean.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tessera::runtime::cuda {

// Who can do something about an error.
enum class Cause {
  Memory,   // the GPU's is full
  Kernel,   // a kernel failed, and the context with it
  Lost,     // the GPU's hardware failed, and the context with it
  Code,     // code that this GPU or driver does not take
  Driver,   // missing, old or broken
  Machine,  // the GPU, or what it is not allowed or able to do
  Busy,     // other programs have the GPU
  Capture,  // what cannot be part of a CUDA graph
  Shutdown, // the process is ending
  Defect,   // a call that this program should not make
};

// A result that is not in the table is the machine's.
Cause causeOf(int result);
// "CUDA_ERROR_OUT_OF_MEMORY"; empty where it is not known.
std::string nameOf(int result);
// What to do about it.
std::string hintOf(int result);

} // namespace tessera::runtime::cuda
