// replay/packed/PackedTensors.h - the tensors of packed cases: each once.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// CASE/tensors.json: {"version": 1, "before": {NAME: {"dtype", "shape", "blob":
// HEX}}, "after": ...}. A blob is a file blobs/HEX in the folder of the cases:
// the bytes, deflated, named by the first 32 digits of their SHA-256, so that
// bytes that several cases share are stored once and damage is noticed.
#pragma once

#include "replay/Case.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace tessera::cases {

// Writes the tensors of a case for its packed folder. Throws Error.
void packTensors(const LoadedCase &loaded, const std::filesystem::path &folder);

// A case that pack wrote; one as recorded is read as such. Throws Error for
// files that are missing or damaged.
LoadedCase loadPacked(const std::filesystem::path &folder);

// The folder of the blobs of a packed case.
std::filesystem::path blobsOf(const std::filesystem::path &folder);
// Bytes that packed cases share: a file of the folder, see above. writeBlob()
// gives its name; readBlob() throws Error for one that is missing or damaged,
// and for a name that is none. `bytes`: how many, where that is known.
std::string writeBlob(const std::filesystem::path &blobs,
                      std::string_view bytes);
std::string readBlob(const std::filesystem::path &blobs,
                     const std::string &name, std::optional<size_t> bytes,
                     const std::string &what);

// zlib streams. `bytes`: of the inflated text, where that is known; else at
// most 256 MiB. Throws Error naming `what`.
std::string deflated(std::string_view text);
std::string inflated(std::string_view text, std::optional<size_t> bytes,
                     const std::string &what);

} // namespace tessera::cases
