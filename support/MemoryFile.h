// support/MemoryFile.h - a file in memory for tools that read and write files.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/File.h"

#include <string>
#include <string_view>

namespace tessera {

// A file without a name. A process that inherits the descriptor opens it by
// its number.
class MemoryFile {
public:
  // Throws Error, as write() does. `name` is what /proc shows.
  explicit MemoryFile(const char *name);
  void write(std::string_view bytes);
  std::string read() const;
  int descriptor() const { return fd.get(); }
  // For this process.
  std::string path() const {
    return "/proc/self/fd/" + std::to_string(fd.get());
  }

private:
  UniqueFd fd;
};

} // namespace tessera
