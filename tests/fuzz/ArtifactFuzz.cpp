// tests/fuzz/ArtifactFuzz.cpp - any bytes as a cache entry.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/Artifact.h"
#include "tests/fuzz/Fuzz.h"

#include <cstring>

using namespace tessera;
using namespace tessera::runtime;

// Reads the bytes as an entry, then with corrected magic, key and checksum, so
// that the code after these checks is reached.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string bytes = fuzz::text(data, size);
  Sha256Digest key{};
  std::string reason;
  auto check = [&] {
    reason.clear();
    auto artifact = decodeArtifact(bytes, key, reason);
    fuzz::require(artifact.has_value() == reason.empty(),
                  "a bad entry without a reason, or a good one with one");
    if (!artifact)
      return;
    std::string again;
    fuzz::expectErrorsOnly([&] { again = encodeArtifact(*artifact, key); });
    auto copy = decodeArtifact(again, key, reason);
    fuzz::require(again.empty() || (copy && copy->code == artifact->code &&
                                    copy->meta == artifact->meta &&
                                    copy->stages == artifact->stages),
                  "an entry does not survive being written");
  };
  check();
  if (size < artifactHeaderBytes)
    return 0;
  std::memcpy(bytes.data(), "tessera\n", 8);
  std::memcpy(bytes.data() + 8, "\1\0\0\0\0\0\0\0", 8);
  std::memcpy(key.data(), bytes.data() + 40, 32);
  const Sha256Digest sum =
      Sha256()
          .update(std::string_view(bytes).substr(0, 72))
          .update(std::string_view(bytes).substr(artifactHeaderBytes))
          .finish();
  std::memcpy(bytes.data() + 72, sum.data(), 32);
  check();
  return 0;
}
