// trainer/data/RandomFile.h - random read access to a file of data.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/File.h"

#include <cstdint>
#include <string>

namespace tessera::trainer {

/// Reads with pread instead of mmap. So truncation of the file during a run
/// causes an error and not SIGBUS.
class RandomFile {
public:
  /// Throws tessera::Error if the path is not a readable regular file.
  explicit RandomFile(const std::string &path);

  const std::string &path() const { return name; }
  int64_t size() const { return bytes; } ///< Bytes at the time of opening.

  /// Reads bytes offset .. offset+count-1. Throws tessera::Error if that fails.
  /// Thread-safe.
  void read(int64_t offset, int64_t count, void *out) const;
  std::string read(int64_t offset, int64_t count) const;

private:
  std::string name;
  UniqueFd fd;
  int64_t bytes = 0;
};

} // namespace tessera::trainer
