// trainer/loop/GpuFault.h - the error of a run whose GPU failed.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Error.h"
#include "trainer/settings/Config.h"

#include <c10/core/Device.h>
#include <optional>

namespace tessera::trainer {

/// Where the device is a GPU that this process cannot use any more, whoever's
/// call noticed it first: what the driver says of it, the kernels that were
/// launched last, and how the run goes on. None for the CPU and a GPU that
/// works.
std::optional<Error> gpuFault(c10::Device device, const Config &config);

} // namespace tessera::trainer
