// autotune/choice/ThisMachine.h - the devices of this machine, as tables know
// them.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/table/TuneTable.h"
#include "runtime/launch/LaunchDevice.h"

#include <string_view>
#include <vector>

namespace tessera::tune {

// Of the device that a launch names. A simulated GPU has its own name and
// target alone. Throws Error where there is no such device.
const DeviceModel &deviceModel(const runtime::LaunchDevice &device);

// From the text of /proc/cpuinfo: the model's name, how many of the logical
// processors `allowed` there are and on how many cores. A machine that does not
// tell its cores has as many as logical processors.
DeviceModel cpuModel(std::string_view cpuinfo, const std::vector<int> &allowed,
                     const std::string &target);

} // namespace tessera::tune
