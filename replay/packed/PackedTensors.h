// replay/packed/PackedTensors.h - the tensors of packed cases, each stored
// once.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// CASE/tensors.json: {"version": 1, "before": {NAME: {"dtype", "shape", "blob":
// HEX}}, "after": ...}. A blob is a file blobs/HEX in the folder of the cases:
// deflated bytes, named by the first 32 digits of their SHA-256. So bytes that
// several cases share are stored once, and damage is detected.
#pragma once

#include "replay/Case.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace tessera::cases {

// Writes the tensors of a case for its packed folder. Throws Error.
void packTensors(const LoadedCase &loaded, const std::filesystem::path &folder);

// Loads a packed case, or a recorded case that is not packed. Throws Error for
// files that are missing or damaged.
LoadedCase loadPacked(const std::filesystem::path &folder);

// Returns the blob folder of a packed case.
std::filesystem::path blobsOf(const std::filesystem::path &folder);
// Writes and reads blobs, see above. writeBlob() returns the blob's name.
// readBlob() throws Error for a blob that is missing or damaged and for an
// invalid name. `bytes`: expected size, if known.
std::string writeBlob(const std::filesystem::path &blobs,
                      std::string_view bytes);
std::string readBlob(const std::filesystem::path &blobs,
                     const std::string &name, std::optional<size_t> bytes,
                     const std::string &what);

// Compress to and decompress from a zlib stream. `bytes`: size of the inflated
// text, if known; else at most 256 MiB. Throw Error naming `what`.
std::string deflated(std::string_view text);
std::string inflated(std::string_view text, std::optional<size_t> bytes,
                     const std::string &what);

} // namespace tessera::cases
