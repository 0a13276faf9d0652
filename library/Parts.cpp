// library/Parts.cpp - registers with launches what this library consists of:
// devices, tuning tables, the recorder.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/Parts.h"

#include "autotune/choice/Tables.h"
#include "replay/Record.h"
#include "runtime/device/cpu/CpuKernel.h"
#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/device/sim/SimKernel.h"
#include "runtime/launch/TensorExtent.h"

namespace tessera::runtime {

void registerParts() {
  registerCpuDevice();
  registerSimDevices();
  registerCudaDevices();
  setConfigurationChooser(&tune::tableChooser());
  if (recording())
    setLaunchHook(&launchRecorder());
}

} // namespace tessera::runtime
