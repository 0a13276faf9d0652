// support/ScratchFolder.h - a temporary folder with the lifetime of a scope.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

namespace tessera {

// Creates a folder below `parent`, by default TMPDIR (or /tmp). Only this user
// can read it, and other users cannot predict its name. The caller removes it.
// Throws Error.
std::filesystem::path
makeTemporaryFolder(std::string_view purpose,
                    const std::filesystem::path &parent = {});

// Creates a folder below `parent`, by default TMPDIR (or /tmp), that only this
// user can read. Its name contains `purpose`: "diff" makes tessera-diff-a1b2c3.
// The destructor removes the folder and its contents. Throws Error if it cannot
// be created.
class ScratchFolder {
public:
  explicit ScratchFolder(std::string_view purpose,
                         const std::filesystem::path &parent = {});
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder &) = delete;
  ScratchFolder &operator=(const ScratchFolder &) = delete;

  const std::filesystem::path &path() const { return folder; }

private:
  std::filesystem::path folder;
};

} // namespace tessera
