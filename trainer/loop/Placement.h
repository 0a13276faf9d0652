// trainer/loop/Placement.h - where a run computes.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/parallel/World.h"

#include <c10/core/Device.h>

namespace tessera::trainer {

/// Of runtime.device: "auto" is the GPU with TESSERA_DEVICE=cuda and else the
/// CPU, whose tensors TESSERA_DEVICE may send through a simulated GPU. Each
/// process of a machine has a GPU of its own, which becomes torch's current
/// one. Loads torch's CUDA library for a GPU. Throws tessera::Error where there
/// is none, and where TESSERA_DEVICE and the settings contradict each other.
c10::Device placementOf(const Config &config, const World &world = {});

/// With runtime.nccl_pcie and tensors that go by NCCL: sets what it reads when
/// the processes meet, NCCL_ALGO, NCCL_PROTO and NCCL_IB_DISABLE, where they
/// are not set. Throws tessera::Error where tensors go by Gloo.
void chooseNcclForPcie(const Config &config, c10::Device device);

} // namespace tessera::trainer
