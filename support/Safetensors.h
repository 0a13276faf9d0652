// support/Safetensors.h - the header of the safetensors format.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A file is an 8-byte little-endian length, a JSON object of that length,
// {NAME: {"dtype", "shape", "data_offsets": [begin, end]}, "__metadata__":
// {...}}, and the bytes of the tensors. Offsets count from the end of the
// header.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// Returns the bytes of an element of a type ("F32", "BF16", "BOOL", "F8_E4M3"),
// or 0 for a type that the format does not have.
size_t storedBytes(std::string_view dtype);

// A tensor of a file. Its bytes are [begin, end) of the file, as many as shape
// and dtype require.
struct StoredPlace {
  std::string dtype;
  std::vector<int64_t> shape;
  size_t begin = 0, end = 0;
};

// Locates all tensors of a file. Never reads outside of `bytes`, even for
// malformed input. `name` is the file's name for messages. Throws Error.
std::map<std::string, StoredPlace> locateTensors(std::string_view bytes,
                                                 const std::string &name);

// Returns the bytes before the tensors, padded to a multiple of `alignment`,
// which must be a multiple of 8.
std::string safetensorsHeader(const nlohmann::json &header, size_t alignment);

} // namespace tessera
