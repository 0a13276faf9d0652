// support/Descriptors.h - reads from descriptors, and handles their lack.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tessera {

// Appends all bytes up to the end of the file. Returns errno, EFBIG for an
// endless device, or 0.
int readToEnd(int fd, std::string &bytes);

// Returns the hint for a failed open or write: `otherwise`, unless the process
// or the system ran out of descriptors, or the file would exceed the largest
// size of files (ulimit -f).
std::string hintForOpen(int error, const std::string &otherwise);

} // namespace tessera
