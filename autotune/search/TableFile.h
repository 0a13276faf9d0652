// autotune/search/TableFile.h - the table file that a search updates.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/table/TuneTable.h"
#include "support/File.h"

#include <filesystem>
#include <vector>

namespace tessera::tune {

// A lock that a process holds while it reads, changes and writes a file, so
// that no other process changes the file meanwhile. The lock is a separate file
// in the same folder; the destructor removes it.
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
  // Reads the file if it exists. Throws Error, also for a table of another
  // device.
  TableFile(std::filesystem::path file, const DeviceModel &device,
            const TuneProvenance &provenance);

  // Sets an entry and removes the entries of older texts of the kernel.
  void replace(const TuneEntry &entry);
  // Adds the changed entries to the file's current contents, because another
  // process may have written to it. Throws Error, also if the file is now a
  // table of another device.
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
