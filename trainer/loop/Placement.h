// trainer/loop/Placement.h - chooses the device of a run.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/parallel/World.h"

#include <c10/core/Device.h>

#include <filesystem>
#include <string>

namespace tessera::trainer {

/// Returns the device that runtime.device selects. "auto" is the GPU if
/// TESSERA_DEVICE=cuda, else the CPU (TESSERA_DEVICE can then select a
/// simulated GPU for kernels). Each process of a machine gets a different GPU,
/// which becomes torch's current one. Loads torch's CUDA library for a GPU.
/// Throws tessera::Error if the GPU is missing, or if TESSERA_DEVICE
/// contradicts the settings.
c10::Device placementOf(const Config &config, const World &world = {});

/// Returns a line for a run on the CPU that chose no device, on a machine with
/// an NVIDIA GPU (`devices` has the file nvidia0); else an empty string.
std::string unusedGpuLine(const Config &config, c10::Device device,
                          const std::filesystem::path &devices = "/dev");

/// If runtime.nccl_pcie is set, sets NCCL_ALGO, NCCL_PROTO and NCCL_IB_DISABLE
/// unless they are set already. Call it before the processes connect, when NCCL
/// reads them. Throws tessera::Error if the run exchanges tensors by Gloo.
void chooseNcclForPcie(const Config &config, c10::Device device);

} // namespace tessera::trainer
