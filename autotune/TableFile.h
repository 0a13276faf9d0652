// autotune/TableFile.h - the table that a search fills.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/tune/TuneTable.h"

#include <filesystem>

namespace tessera::tune {

class TableFile {
public:
  // Reads the file when it is there. Throws Error, also for a table of another
  // device.
  TableFile(std::filesystem::path file, const DeviceModel &device,
            const TuneProvenance &provenance);

  // Those of older texts of the kernel go.
  void replace(const TuneEntry &entry);
  void write() const; // throws Error

  const std::filesystem::path &path() const { return file; }
  const TuneTable &table() const { return content; }

private:
  const std::filesystem::path file;
  TuneTable content;
};

} // namespace tessera::tune
