// support/ScratchFolder.h - a folder for the time of a scope.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

namespace tessera {

// Makes a new folder below `parent`, by default TMPDIR (or /tmp), that only
// this user can read and no other user can predict, and leaves it to the
// caller. Throws Error.
std::filesystem::path
makeTemporaryFolder(std::string_view purpose,
                    const std::filesystem::path &parent = {});

// A new folder below `parent`, by default TMPDIR (or /tmp), that only this user
// can read, named after `purpose`: "diff" makes tessera-diff-a1b2c3. The
// destructor removes it and all in it. Throws Error where none can be made.
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
