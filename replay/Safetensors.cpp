// replay/Safetensors.cpp - named tensors in the safetensors format.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "replay/Safetensors.h"

#include "support/Json.h"

#include <algorithm>

namespace tessera::cases {

int64_t StoredTensor::count() const {
  return int64_t(bytes.size() / std::max<size_t>(1, storedBytes(dtype)));
}

Tensors readSafetensors(std::string_view bytes, const std::string &name) {
  Tensors tensors;
  for (auto &[key, place] : locateTensors(bytes, name))
    tensors[key] = {
        place.dtype, place.shape,
        std::string(bytes.substr(place.begin, place.end - place.begin))};
  return tensors;
}

std::string writeSafetensors(const Tensors &tensors) {
  // Wider elements first, so that each tensor begins at a multiple of its
  // element size.
  std::vector<const Tensors::value_type *> order;
  for (const auto &tensor : tensors)
    order.push_back(&tensor);
  std::stable_sort(order.begin(), order.end(), [](auto *a, auto *b) {
    return storedBytes(a->second.dtype) > storedBytes(b->second.dtype);
  });
  Json header = Json::object();
  std::string data;
  for (const auto *tensor : order) {
    const size_t begin = data.size();
    data += tensor->second.bytes;
    header[tensor->first] = {{"dtype", tensor->second.dtype},
                             {"shape", tensor->second.shape},
                             {"data_offsets", {begin, data.size()}}};
  }
  return safetensorsHeader(header, 8) + data;
}

} // namespace tessera::cases
