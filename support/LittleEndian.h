// support/LittleEndian.h - little-endian numbers in file headers.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera {

// Appends the low `width` bytes of a number, least significant first.
inline void putNumber(std::string &bytes, uint64_t value, int width) {
  for (int i = 0; i < width; ++i)
    bytes += char(value >> (8 * i) & 0xff);
}

// Reads a number at `offset`. Requires at least offset + width bytes.
inline uint64_t takeNumber(std::string_view bytes, size_t offset, int width) {
  uint64_t value = 0;
  for (int i = 0; i < width; ++i)
    value |= uint64_t(static_cast<unsigned char>(bytes[offset + i])) << (8 * i);
  return value;
}

} // namespace tessera
