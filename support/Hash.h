// support/Hash.h - SHA-256 (FIPS 180-4), of one text or incrementally.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera {

using Sha256Digest = std::array<uint8_t, 32>;

class Sha256 {
public:
  Sha256 &update(std::string_view bytes);
  // Returns the digest. The object must not be updated afterwards.
  Sha256Digest finish();

private:
  void block(const uint8_t *bytes);

  std::array<uint32_t, 8> state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372,
                                   0xa54ff53a, 0x510e527f, 0x9b05688c,
                                   0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, 64> pending = {};
  uint64_t length = 0;
};

Sha256Digest sha256(std::string_view bytes);
std::string toHex(const Sha256Digest &digest);
// Returns the digest as 64 lower-case hexadecimal digits.
std::string sha256Hex(std::string_view bytes);

} // namespace tessera
