// trainer/loop/GpuFault.h - the error of a run whose GPU failed.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Error.h"
#include "trainer/settings/Config.h"

#include <c10/core/Device.h>
#include <optional>

namespace tessera::trainer {

/// Returns an error if `device` is a GPU that this process cannot use any more,
/// whether tessera or torch detected the fault. It contains the driver's
/// message, the last kernels launched and how to continue the run. Returns
/// nullopt for the CPU and for a working GPU.
std::optional<Error> gpuFault(c10::Device device, const Config &config);

} // namespace tessera::trainer
