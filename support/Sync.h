// support/Sync.h - complete writes and durable folder entries, on which File.h
// builds.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

namespace tessera {

// Writes all bytes to a descriptor. On failure returns false with errno set,
// and `bytes` is the unwritten rest. Exceeding the file size limit is a
// failure, not a signal.
bool writeAll(int fd, std::string_view &bytes);

// Makes the names in a folder survive a power failure (fsync). Returns errno,
// or 0, also if the file system does not support it.
int syncFolder(const std::filesystem::path &folder);

} // namespace tessera
