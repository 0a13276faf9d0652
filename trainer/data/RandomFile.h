// trainer/data/RandomFile.h - a file that is read in pieces, anywhere.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/File.h"

#include <cstdint>
#include <string>

namespace tessera::trainer {

/// Read with pread and not mapped: a file that is cut short while a run reads
/// it is an error then, and not the end of the process.
class RandomFile {
public:
  /// Throws tessera::Error when it is not a regular file that can be read.
  explicit RandomFile(const std::string &path);

  const std::string &path() const { return name; }
  int64_t size() const { return bytes; } ///< In bytes, when it was opened.

  /// Bytes offset .. offset+count-1. Throws tessera::Error when they cannot be
  /// read. May be called from several threads.
  void read(int64_t offset, int64_t count, void *out) const;
  std::string read(int64_t offset, int64_t count) const;

private:
  std::string name;
  UniqueFd fd;
  int64_t bytes = 0;
};

} // namespace tessera::trainer
