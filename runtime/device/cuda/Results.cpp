// runtime/device/cuda/Results.cpp - what the driver's errors mean.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/Results.h"

#include <algorithm>
#include <iterator>

namespace tessera::runtime::cuda {

namespace {

struct Row {
  int number;
  const char *name;
  Cause cause;
};
constexpr Row results[] = {
#define RESULT(number, name, cause) {number, "CUDA_ERROR_" #name, Cause::cause},
#include "runtime/device/cuda/Results.def"
};

const Row *find(int result) {
  const Row *row = std::ranges::lower_bound(results, result, {}, &Row::number);
  return row != std::end(results) && row->number == result ? row : nullptr;
}

} // namespace

Cause causeOf(int result) {
  const Row *row = find(result);
  return row ? row->cause : Cause::Machine;
}

std::string nameOf(int result) {
  const Row *row = find(result);
  return row ? row->name : "";
}

std::string hintOf(int result) {
  switch (causeOf(result)) {
  case Cause::Memory:
    return "the GPU's memory is full: use smaller tensors, or end other "
           "programs";
  case Cause::Kernel:
    return "TESSERA_DEVICE=sim:sm_80 runs the same code with every access "
           "checked; this process cannot use the GPU any more";
  case Cause::Lost:
    return "nvidia-smi -q and the system's log (dmesg, Xid) say what failed; "
           "reset the GPU (nvidia-smi --gpu-reset), restart the machine, or "
           "choose another GPU with CUDA_VISIBLE_DEVICES";
  case Cause::Code:
    return "clear the cache, whose code may be another GPU's: tessera cache "
           "clear; TESSERA_DEVICE=sim:sm_80 runs the same code on a simulator";
  case Cause::Driver:
    return "install a driver for CUDA 12.8 or later, and restart the machine "
           "after an update; tessera doctor shows what is there";
  case Cause::Machine:
    return "nvidia-smi shows the state of the GPU; TESSERA_DEVICE=sim:sm_80 or "
           "cpu runs without it";
  case Cause::Busy:
    return "another program has the GPU: nvidia-smi lists them; "
           "CUDA_VISIBLE_DEVICES chooses another one";
  case Cause::Capture:
    return "a CUDA graph is being captured: do this before the capture begins "
           "or after it ended";
  case Cause::Shutdown:
    return "the process is ending; launch nothing after main()";
  case Cause::Defect:
    break;
  }
  return "this is a defect of tessera: please report it with the program that "
         "led here";
}

} // namespace tessera::runtime::cuda
