// support/MappedFile.h - the bytes of a file as memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

namespace tessera {

// A regular file, mapped for reading. Pages are read when they are touched. As
// for every mapping, whoever truncates the file meanwhile ends the process:
// replace files by renaming, as writeFile() does.
class MappedFile {
public:
  enum class Use {
    Read,
    Execute, // the process executes what the file contains
  };
  // Throws Error if the file cannot be read, and for `Execute` if it is not
  // trusted (support/Trust.h).
  explicit MappedFile(const std::filesystem::path &path, Use use = Use::Read);
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;
  ~MappedFile();

  std::string_view bytes() const { return {data, size}; }

private:
  const char *data = nullptr;
  size_t size = 0;
};

} // namespace tessera
