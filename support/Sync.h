// support/Sync.h - what File.h is made of: whole writes, folders on the disk.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

namespace tessera {

// Writes to a descriptor. When something fails: false, errno says why, and
// `bytes` is what is left to write. A limit of file sizes is a failure too,
// not a signal.
bool writeAll(int fd, std::string_view &bytes);

// Makes the names in a folder survive a power cut. errno of what failed; 0 also
// where the file system has no such thing.
int syncFolder(const std::filesystem::path &folder);

} // namespace tessera
