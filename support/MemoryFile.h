// support/MemoryFile.h - a file in memory for tools that read and write files.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/File.h"

#include <string>
#include <string_view>

namespace tessera {

// An unnamed file in memory. A process that inherits the descriptor opens it by
// its number.
class MemoryFile {
public:
  // Creates the file. Throws Error, like write(). /proc shows `name`.
  explicit MemoryFile(const char *name);
  void write(std::string_view bytes);
  std::string read() const;
  int descriptor() const { return fd.get(); }
  // Returns a path that is valid in this process.
  std::string path() const {
    return "/proc/self/fd/" + std::to_string(fd.get());
  }

private:
  UniqueFd fd;
};

} // namespace tessera
