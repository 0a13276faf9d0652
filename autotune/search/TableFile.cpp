// autotune/search/TableFile.cpp - the table file that a search updates.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/TableFile.h"

#include "support/Error.h"

#include <utility>

namespace tessera::tune {

static std::filesystem::path lockOf(std::filesystem::path file) {
  file += ".lock";
  return file;
}

ChangingFile::ChangingFile(const std::filesystem::path &file)
    : path(lockOf(file)), lock(FileLock::acquire(path)) {}

ChangingFile::~ChangingFile() {
  lock = FileLock();
  FileLock::removeUnused(path);
}

TableFile::TableFile(std::filesystem::path given, const DeviceModel &device,
                     const TuneProvenance &provenance)
    : file(std::move(given)), device(device), provenance(provenance) {
  readFile();
}

void TableFile::readFile() {
  std::error_code error;
  TuneTable found;
  if (std::filesystem::exists(file, error))
    found = readTable(file);
  if (!found.entries().empty() && !fits(found.device, device))
    throw Error(file.string() + " is a table of " + describe(found.device) +
                    "; this is " + describe(device),
                "name another file with --out");
  content = std::move(found);
  content.device = device;
  content.provenance = provenance;
}

static void replaceIn(TuneTable &table, const TuneEntry &entry) {
  std::vector<TuneKey> old;
  for (const TuneEntry &other : table.entries()) {
    TuneKey key = other.key;
    key.textHash = entry.key.textHash;
    if (key == entry.key)
      old.push_back(other.key);
  }
  for (const TuneKey &key : old)
    table.erase(key);
  table.set(entry);
}

void TableFile::replace(const TuneEntry &entry) {
  replaceIn(content, entry);
  changed.push_back(entry);
}

void TableFile::write() {
  const ChangingFile changing(file);
  readFile();
  for (const TuneEntry &entry : changed)
    replaceIn(content, entry);
  writeTable(file, content);
  changed.clear();
}

} // namespace tessera::tune
