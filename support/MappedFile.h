// support/MappedFile.h - the bytes of a file as memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

namespace tessera {

// A regular file, mapped for reading. Pages are read when they are touched. As
// for every mapping, whoever cuts the file meanwhile ends the process: replace
// files by renaming, as writeFile() does.
class MappedFile {
public:
  // Throws Error.
  explicit MappedFile(const std::filesystem::path &path);
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;
  ~MappedFile();

  std::string_view bytes() const { return {data, size}; }

private:
  const char *data = nullptr;
  size_t size = 0;
};

} // namespace tessera
