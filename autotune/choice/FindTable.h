// autotune/choice/FindTable.h - where the table of a device is.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/table/TuneTable.h"
#include "runtime/launch/LaunchDevice.h"

#include <filesystem>
#include <optional>
#include <string>

namespace tessera::tune {

struct FoundTable {
  std::string path;
  TuneTable table;
};
// What TESSERA_TUNED, else the pack of TESSERA_PACK where there is one, else
// this build has for a device, with all its entries; none
// where there is nothing that fits. What TESSERA_TUNED names and does not fit
// is warned of. A simulated GPU stands for all GPUs of its target, but only
// takes what TESSERA_TUNED names or the pack has. Throws Error as tableOf()
// does.
std::optional<FoundTable> findTable(const runtime::LaunchDevice &device);

// configs/tuned of this build, empty where it has none.
std::filesystem::path tunedFolder();
// The file of a folder for a device: the one with the longest name that
// fileStem() begins with. Empty: there is none.
std::filesystem::path tableFor(const std::filesystem::path &folder,
                               const DeviceModel &device);

// What makes the table anew.
std::string renewalCommand(const TuneTable &table, const std::string &path);

} // namespace tessera::tune
