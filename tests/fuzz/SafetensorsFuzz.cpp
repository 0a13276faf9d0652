// tests/fuzz/SafetensorsFuzz.cpp - any bytes as the tensors of a case.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "replay/Safetensors.h"
#include "tests/fuzz/Fuzz.h"

#include <cstring>

using namespace tessera;
using namespace tessera::cases;

static void check(const std::string &bytes) {
  fuzz::expectErrorsOnly([&] {
    const Tensors tensors = readSafetensors(bytes, "after.safetensors");
    for (const auto &[name, tensor] : tensors)
      fuzz::require(uint64_t(tensor.count()) * storedBytes(tensor.dtype) ==
                        tensor.bytes.size(),
                    "a tensor with more or fewer bytes than its shape has");
    const std::string written = writeSafetensors(tensors);
    const Tensors again = readSafetensors(written, "again");
    fuzz::require(again.size() == tensors.size() &&
                      writeSafetensors(again) == written,
                  "tensors do not survive being written");
  });
}

// Reads the bytes as they are; then after a correct length, which a mutation
// rarely produces.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string bytes = fuzz::text(data, size);
  check(bytes);
  const size_t end = bytes.find('\n');
  if (size <= 8 || end == std::string::npos || end < 8)
    return 0;
  const uint64_t header = end - 8;
  std::memcpy(bytes.data(), &header, 8);
  bytes.erase(end, 1);
  check(bytes);
  return 0;
}
