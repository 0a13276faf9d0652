// tools/pack/Show.h - what a pack holds, for people.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace tessera::tools {

// Prints origin, targets, kernels with the hashes of their texts, and tables,
// after the checksum of every entry was compared; 0. Throws Error for a pack
// that is not whole.
int showPack(const std::filesystem::path &path);

} // namespace tessera::tools
