// tests/fuzz/TokenFileFuzz.cpp - any bytes as a file of tokens.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/Fuzz.h"
#include "trainer/data/TokenFile.h"

#include <algorithm>

using namespace tessera;
using namespace tessera::trainer;

static void check(const std::string &bytes, int64_t size) {
  fuzz::expectErrorsOnly([&] {
    const std::string head =
        bytes.substr(0, size_t(std::min(size, shardHeaderBytes)));
    const TokenLayout l = readLayout(head, size, "x.bin");
    fuzz::require(l.offset >= 0 && l.tokens >= 0 && l.documents >= 0 &&
                      l.vocabulary >= 1 && l.textBytes >= 0,
                  "a layout with negative numbers");
    fuzz::require(l.offset + l.tokens * l.width + l.documents * 8 <= size,
                  "tokens past the end of the file");
    if (l.format != TokenFormat::Shard)
      return;
    const TokenLayout again = readLayout(shardHeader(l), size, "again");
    fuzz::require(
        again.tokens == l.tokens && again.width == l.width &&
            again.documents == l.documents &&
            again.vocabulary == l.vocabulary && again.endToken == l.endToken &&
            again.textBytes == l.textBytes && again.tokenizer == l.tokenizer &&
            again.sha256 == l.sha256,
        "a header does not survive being written");
  });
}

// Reads the bytes as they are; then as the beginning of a longer file, padded
// to a complete header, whose size is in the bytes after it.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string bytes = fuzz::text(data, size);
  check(bytes, int64_t(size));
  int64_t longer = shardHeaderBytes;
  for (size_t i = size_t(shardHeaderBytes); i < std::min(size, size_t(1029));
       ++i)
    longer += int64_t(data[i]) << 8 * (i - size_t(shardHeaderBytes));
  bytes.resize(std::max(bytes.size(), size_t(shardHeaderBytes)), ' ');
  check(bytes, longer);
  return 0;
}
