// trainer/data/TextKind.h - recognizes files that are not text, and held-out
// files by their names.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace tessera::trainer {

/// Throws tessera::Error if a file that is about to be read as text is a
/// compressed file, an array of numpy, UTF-16 text, or a `.bin` file without a
/// known header. `head` is the beginning of the file.
void requireText(std::string_view head, const std::string &name);

/// True if a word of the file's name is val, valid, validation or heldout.
/// Words consist of letters; "x_val_000.bin" has the words x, val and bin.
bool namesHeldOut(const std::string &name);

} // namespace tessera::trainer
