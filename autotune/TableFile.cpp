// autotune/TableFile.cpp - the table that a search fills.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/TableFile.h"

#include "support/Error.h"

#include <vector>

namespace tessera::tune {

TableFile::TableFile(std::filesystem::path given, const DeviceModel &device,
                     const TuneProvenance &provenance)
    : file(std::move(given)) {
  std::error_code error;
  if (std::filesystem::exists(file, error))
    content = readTable(file);
  if (!content.entries().empty() && !fits(content.device, device))
    throw Error(file.string() + " is a table of " + describe(content.device) +
                    "; this is " + describe(device),
                "name another file with --out");
  content.device = device;
  content.provenance = provenance;
}

void TableFile::replace(const TuneEntry &entry) {
  std::vector<TuneKey> old;
  for (const TuneEntry &other : content.entries()) {
    TuneKey key = other.key;
    key.textHash = entry.key.textHash;
    if (key == entry.key)
      old.push_back(other.key);
  }
  for (const TuneKey &key : old)
    content.erase(key);
  content.set(entry);
}

void TableFile::write() const { writeTable(file, content); }

} // namespace tessera::tune
