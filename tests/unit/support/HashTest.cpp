// tests/unit/support/HashTest.cpp - tests of support/Hash.h.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/Hash.h"

#include <gtest/gtest.h>
#include <random>

using namespace tessera;

// Vectors of FIPS 180-4's example documents.
TEST(Hash, KnownVectors) {
  EXPECT_EQ(sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb924"
                           "27ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223"
                              "b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(
      sha256Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256Hex(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Hash, PiecesEqualTheWhole) {
  std::mt19937 random(7);
  std::string text;
  for (int i = 0; i < 1000; ++i)
    text += char(random());
  for (size_t length : {0, 1, 55, 56, 63, 64, 65, 119, 120, 128, 1000}) {
    Sha256 hash;
    std::string_view left = std::string_view(text).substr(0, length);
    while (!left.empty()) {
      size_t step = std::min<size_t>(left.size(), random() % 70);
      hash.update(left.substr(0, step));
      left.remove_prefix(step);
    }
    EXPECT_EQ(toHex(hash.finish()), sha256Hex(text.substr(0, length)));
  }
}
