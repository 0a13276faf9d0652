// tests/unit/runtime/ArtifactTest.cpp - tests of runtime/cache/Artifact.h.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/Artifact.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::runtime;

static Artifact sample() {
  Artifact artifact;
  artifact.code = std::string("\x7f"
                              "ELF\0\1\2",
                              7);
  artifact.meta = {{"kernel", "k"}, {"n", 3}};
  artifact.stages = {{"tile", "module {}"}, {"asm", ""}};
  return artifact;
}

TEST(Artifact, RoundTrip) {
  const Sha256Digest key = sha256("key");
  std::string reason;
  for (bool stages : {true, false}) {
    Artifact artifact = sample();
    if (!stages)
      artifact.stages.clear();
    auto read = decodeArtifact(encodeArtifact(artifact, key), key, reason);
    ASSERT_TRUE(read) << reason;
    EXPECT_EQ(read->code, artifact.code);
    EXPECT_EQ(read->meta, artifact.meta);
    EXPECT_EQ(read->stages, artifact.stages);
  }
  auto empty = decodeArtifact(encodeArtifact({}, key), key, reason);
  ASSERT_TRUE(empty) << reason;
  EXPECT_EQ(empty->code, "");
}

TEST(Artifact, LayoutIsAsDocumented) {
  const std::string bytes = encodeArtifact(sample(), sha256("key"));
  EXPECT_EQ(bytes.substr(0, 8), "tessera\n");
  EXPECT_EQ(bytes.substr(8, 8), std::string("\1\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(bytes.substr(16, 8), std::string("\7\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(bytes.substr(artifactHeaderBytes, 7), sample().code);
  EXPECT_EQ(bytes.substr(artifactHeaderBytes + 7, 20),
            R"({"kernel":"k","n":3})");
}

TEST(Artifact, EveryTruncationIsSeen) {
  const Sha256Digest key = sha256("key");
  const std::string bytes = encodeArtifact(sample(), key);
  for (size_t length = 0; length < bytes.size(); ++length) {
    std::string reason;
    EXPECT_FALSE(decodeArtifact(bytes.substr(0, length), key, reason))
        << length;
    EXPECT_FALSE(reason.empty());
  }
  std::string reason;
  EXPECT_FALSE(decodeArtifact(bytes + "x", key, reason));
}

TEST(Artifact, EveryFlippedBitIsSeen) {
  const Sha256Digest key = sha256("key");
  const std::string bytes = encodeArtifact(sample(), key);
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes, reason;
    damaged[bit / 8] ^= char(1 << bit % 8);
    EXPECT_FALSE(decodeArtifact(damaged, key, reason)) << bit;
  }
}

TEST(Artifact, AnotherKeysEntryIsNotTaken) {
  std::string reason;
  EXPECT_FALSE(decodeArtifact(encodeArtifact(sample(), sha256("a")),
                              sha256("b"), reason));
  EXPECT_EQ(reason, "of another key");
}
