// support/MappedFile.h - maps a file into memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

namespace tessera {

// A regular file mapped for reading; pages are read on access. If another
// process truncates the file, an access raises SIGBUS. Replace such files by
// renaming, as writeFile() does.
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
