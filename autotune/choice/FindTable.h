// autotune/choice/FindTable.h - finds the tuning table of a device.
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
  std::string origin; // "TESSERA_TUNED", "TESSERA_PACK", "this build"
  TuneTable table;
};
// Returns the table of a device, with all its entries: that of TESSERA_TUNED,
// else of the pack of TESSERA_PACK, else of this build. Returns nullopt if no
// table fits. Warns if the table of TESSERA_TUNED does not fit. A simulated GPU
// represents all GPUs of its target, but uses only tables of TESSERA_TUNED or
// the pack. Throws Error as tableOf() does.
std::optional<FoundTable> findTable(const runtime::LaunchDevice &device);

// Returns the folder configs/tuned of this build, or an empty path if the build
// does not contain it.
std::filesystem::path tunedFolder();
// Returns the folder's file for a device: the longest file name that is a
// prefix of fileStem(), else that of the name without family, model and
// stepping (ThisMachine.h). Returns an empty path if no name matches.
std::filesystem::path tableFor(const std::filesystem::path &folder,
                               const DeviceModel &device);

// Returns the command that recreates the table.
std::string renewalCommand(const TuneTable &table, const std::string &path);

} // namespace tessera::tune
