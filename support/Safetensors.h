// support/Safetensors.h - the header of the safetensors format.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// An 8-byte little-endian length, a JSON object {NAME: {"dtype", "shape",
// "data_offsets": [begin, end]}, "__metadata__": {...}} of that length, the
// bytes of the tensors. Offsets count from the end of the header.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// Bytes of an element of that name ("F32", "BF16", "BOOL", "F8_E4M3"); 0 for a
// name the format does not have.
size_t storedBytes(std::string_view dtype);

// A tensor of a file: its bytes are [begin, end) of the whole file, as many as
// shape and dtype ask for.
struct StoredPlace {
  std::string dtype;
  std::vector<int64_t> shape;
  size_t begin = 0, end = 0;
};

// Pure: never reads outside `bytes`, whatever they are. `name` is the file for
// messages. Throws Error with what is wrong and how to get a good file.
std::map<std::string, StoredPlace> locateTensors(std::string_view bytes,
                                                 const std::string &name);

// What stands before the tensors' bytes; padded so that these begin at a
// multiple of `alignment`, which is a multiple of 8.
std::string safetensorsHeader(const nlohmann::json &header, size_t alignment);

} // namespace tessera
