// support/Descriptors.h - reading from descriptors, and running out of them.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tessera {

// Appends what the descriptor has up to its end. Returns errno, EFBIG for a
// device that does not end, or 0.
int readToEnd(int fd, std::string &bytes);

// What to do after a call that opens a descriptor failed with that errno:
// `otherwise`, unless there are no free descriptors.
std::string hintForOpen(int error, const std::string &otherwise);

} // namespace tessera
