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

// Pure: never reads outside `bytes`, whatever they are. `name` is the file for
// messages. Throws Error with what is wrong and how to get a good file.
Tensors readSafetensors(std::string_view bytes, const std::string &name);

// Equal tensors give equal bytes: sorted by name, the data 8-byte aligned.
std::string writeSafetensors(const Tensors &tensors);

} // namespace tessera::cases
