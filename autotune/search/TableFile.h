// autotune/search/TableFile.h - the table that a search fills.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/table/TuneTable.h"
#include "support/File.h"

#include <filesystem>
#include <vector>

namespace tessera::tune {

// Held by a process while it reads, changes and writes a file beside which the
// lock is: no other process changes the file meanwhile. Its end removes the
// lock's file.
class ChangingFile {
public:
  explicit ChangingFile(const std::filesystem::path &file);
  ~ChangingFile();

private:
  const std::filesystem::path path;
  FileLock lock;
};

class TableFile {
public:
  // Reads the file when it is there. Throws Error, also for a table of another
  // device.
  TableFile(std::filesystem::path file, const DeviceModel &device,
            const TuneProvenance &provenance);

  // Replaces the entries of older texts of the kernel.
  void replace(const TuneEntry &entry);
  // Adds the replaced entries to what the file holds now: another process may
  // have written to it meanwhile. Throws Error, also for a file that is a table
  // of another device by now.
  void write();

  const std::filesystem::path &path() const { return file; }
  const TuneTable &table() const { return content; }

private:
  void readFile();

  const std::filesystem::path file;
  const DeviceModel device;
  const TuneProvenance provenance;
  TuneTable content;
  std::vector<TuneEntry> changed; // since the last write()
};

} // namespace tessera::tune
