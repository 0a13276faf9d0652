// runtime/Parts.cpp - what this build's runtime consists of.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/Parts.h"

#include "runtime/cases/Record.h"
#include "runtime/device/cpu/CpuKernel.h"
#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/device/sim/SimKernel.h"

namespace tessera::runtime {

void registerParts() {
  registerCpuDevice();
  registerSimDevices();
  registerCudaDevices();
  if (recording())
    setLaunchHook(&launchRecorder());
}

} // namespace tessera::runtime
