// tools/commands/OutputCheck.cpp - checks before long work that its results can
// be written.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/OutputCheck.h"

#include "support/Error.h"
#include "support/File.h"

#include <cerrno>
#include <string>
#include <unistd.h>

namespace tessera::tools {

namespace fs = std::filesystem;

namespace {

// Throws Error unless new files can be created in an existing folder. `what` is
// the output that the command would write.
void requireWritable(const fs::path &folder, const fs::path &what) {
  std::error_code error;
  if (!fs::is_directory(folder, error))
    throw Error("cannot write " + what.string() + ": " + folder.string() +
                    " is not a folder",
                "name an output in a folder");
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    throw Error("cannot write " + what.string() + ": the folder " +
                    folder.string() + ": " + errnoText(errno),
                "choose a folder that you may write to");
}

} // namespace

void requireWritableFile(const fs::path &file) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (fs::is_directory(status))
    throw Error("cannot write " + file.string() + ": it is a folder",
                "name a file in it: " + (file / "NAME").string());
  // Pipes and terminals are written directly.
  if (fs::exists(status) && !fs::is_regular_file(status))
    return;
  const fs::path target = fs::weakly_canonical(file, error);
  const fs::path folder =
      error || !target.has_parent_path() ? "." : target.parent_path();
  if (!fs::exists(folder, error))
    throw Error("cannot write " + file.string() + ": the folder " +
                    folder.string() + " does not exist",
                "create it: mkdir -p " + folder.string());
  requireWritable(folder, file);
}

void requireWritableFolder(const fs::path &folder) {
  std::error_code error;
  fs::path existing = fs::absolute(folder, error);
  while (!fs::exists(existing, error) && existing.has_relative_path())
    existing = existing.parent_path();
  requireWritable(existing, folder);
}

} // namespace tessera::tools
