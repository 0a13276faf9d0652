// replay/Safetensors.h - named tensors in the safetensors format.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Safetensors.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::cases {

struct StoredTensor {
  std::string dtype; // as the file says: "F32", "BF16", "BOOL", "F8_E4M3"
  std::vector<int64_t> shape;
  std::string bytes; // row-major by `shape`, little-endian

  int64_t count() const; // elements
};

using Tensors = std::map<std::string, StoredTensor>;

using tessera::storedBytes;

// Reads all tensors. Never reads outside of `bytes`, even for malformed input.
// `name` is the file's name for messages. Throws Error.
Tensors readSafetensors(std::string_view bytes, const std::string &name);

// Returns the file's bytes: sorted by name, the data 8-byte aligned, so that
// equal tensors give equal bytes.
std::string writeSafetensors(const Tensors &tensors);

} // namespace tessera::cases
