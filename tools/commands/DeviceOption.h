// tools/commands/DeviceOption.h - the option --device of verbs that launch
// kernels.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Kernel.h"
#include "tools/commands/OptionChecks.h"

#include <CLI/CLI.hpp>

#include <string>

namespace tessera::tools {

inline void addDeviceOption(CLI::App &verb, std::string &device) {
  verb.add_option("--device", device,
                  "cpu, or a simulated GPU: sim:sm_80, sim:sm_90; default: "
                  "TESSERA_DEVICE, else cpu")
      ->check(notEmpty());
}

// Returns the option's value or its default. Throws Error for an unknown
// device.
inline std::string chosenDevice(const std::string &option) {
  if (option.empty())
    return defaultDevice();
  deviceTarget(option);
  return option;
}

} // namespace tessera::tools
