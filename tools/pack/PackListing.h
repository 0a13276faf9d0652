// tools/pack/PackListing.h - the contents of a pack as readable text.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace tessera::tools {

// Prints origin, targets, kernels with the hashes of their texts, and tables,
// after the checksum of every entry was compared; 0. Throws Error for a pack
// that is not whole.
int printPackListing(const std::filesystem::path &path);

} // namespace tessera::tools
