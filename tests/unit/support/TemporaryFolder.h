// tests/unit/support/TemporaryFolder.h - a folder that lives as long as a test.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <unistd.h>

namespace tessera {

class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string name =
        (std::filesystem::temp_directory_path() / "tessera-XXXXXX").string();
    if (!::mkdtemp(name.data()))
      throw std::runtime_error("mkdtemp failed");
    folder = name;
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all,
                                 ignored);
    std::filesystem::remove_all(folder, ignored);
  }
  const std::filesystem::path &path() const { return folder; }

private:
  std::filesystem::path folder;
};

} // namespace tessera
