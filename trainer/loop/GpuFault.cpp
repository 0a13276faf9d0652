// trainer/loop/GpuFault.cpp - the error of a run whose GPU failed.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/loop/GpuFault.h"

#include "trainer/checkpoint/CheckpointFolder.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <fmt/format.h>

namespace tessera::trainer {

std::optional<Error> gpuFault(c10::Device device, const Config &config) {
  if (!device.is_cuda())
    return std::nullopt;
  // The library of the torch ops recorded the launches and owns the CUDA
  // driver's state, so the fault is queried through an op.
  static const auto op =
      c10::Dispatcher::singleton()
          .findSchemaOrThrow("tessera_internal::gpu_fault", "")
          .typed<std::tuple<std::string, std::string>(int64_t)>();
  const auto [what, hint] = op.call(device.index());
  if (what.empty())
    return std::nullopt;
  const auto checkpoints = listCheckpoints(config.out);
  return Error(
      fmt::format("GPU {} failed, and this process cannot use it any more: {}",
                  int(device.index()), what),
      fmt::format("{}; nothing of the step was saved: {}", hint,
                  checkpoints.empty()
                      ? "no checkpoint yet (train.save_every), the "
                        "same command starts over"
                      : fmt::format("the same command resumes from the "
                                    "checkpoint of step {}",
                                    checkpoints.rbegin()->first)));
}

} // namespace tessera::trainer
