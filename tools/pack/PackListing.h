// tools/pack/PackListing.h - lists the contents of a pack as readable text.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace tessera::tools {

// Verifies the checksum of every entry, then prints origin, targets, kernels
// with the hashes of their texts, and tables. Returns 0. Throws Error if the
// pack is truncated or damaged.
int printPackListing(const std::filesystem::path &path);

} // namespace tessera::tools
