// autotune/choice/ThisMachine.h - describes the devices of this machine for
// tuning tables.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/table/TuneTable.h"
#include "runtime/launch/LaunchDevice.h"

#include <string_view>
#include <vector>

namespace tessera::tune {

// Returns the model of a device. A simulated GPU has only a name and a target.
// Throws Error if the machine does not have the device.
const DeviceModel &deviceModel(const runtime::LaunchDevice &device);

// Parses /proc/cpuinfo: the model name ("AMD EPYC 9B14 96-Core Processor"), if
// it lacks a number with family, model and stepping ("AMD EPYC family 25 model
// 17 stepping 1"), the number of the logical processors
// `allowed`, and the number of their cores. If the text does not report cores,
// each logical processor counts as a core.
DeviceModel cpuModel(std::string_view cpuinfo, const std::vector<int> &allowed,
                     const std::string &target);

} // namespace tessera::tune
