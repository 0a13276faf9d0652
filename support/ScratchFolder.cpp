// support/ScratchFolder.cpp - a folder for the time of a scope.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/ScratchFolder.h"

#include "support/Error.h"
#include "support/File.h"

#include <cerrno>
#include <cstdlib>
#include <string>

namespace tessera {

namespace fs = std::filesystem;

fs::path makeTemporaryFolder(std::string_view purpose, const fs::path &below) {
  std::error_code error;
  const fs::path parent =
      below.empty() ? fs::temp_directory_path(error) : below;
  // mkdtemp replaces the six X.
  std::string name =
      (parent / ("tessera-" + std::string(purpose) + "-XXXXXX")).string();
  if (error || !::mkdtemp(name.data()))
    throw Error("cannot make a folder in " +
                    (error ? "TMPDIR: " + error.message()
                           : parent.string() + ": " + errnoText(errno)),
                "set TMPDIR to a folder that can be written");
  return fs::absolute(name); // TMPDIR may be relative
}

ScratchFolder::ScratchFolder(std::string_view purpose, const fs::path &parent)
    : folder(makeTemporaryFolder(purpose, parent)) {}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

} // namespace tessera
