// tools/commands/OutputCheck.h - checks before long work that its results can
// be written.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace tessera::tools {

// Checks that writeOutput() could write the file. Creates nothing. Throws Error
// if the path is a folder, or if the file's folder does not exist or is not
// writable.
void requireWritableFile(const std::filesystem::path &file);

// Checks that files could be written in the folder, which is created with its
// parents if it does not exist. Creates nothing. Throws Error.
void requireWritableFolder(const std::filesystem::path &folder);

} // namespace tessera::tools
