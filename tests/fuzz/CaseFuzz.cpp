// tests/fuzz/CaseFuzz.cpp - case.json, with tensors after a NUL byte.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "replay/Buffer.h"
#include "replay/Case.h"
#include "tests/fuzz/Fuzz.h"

using namespace tessera;
using namespace tessera::cases;

static void checkTensors(const Case &recorded, const Tensors &tensors) {
  for (const CaseArgument &argument : recorded.arguments) {
    auto stored = tensors.find(argument.name);
    if (argument.kind != ArgumentKind::Pointer || !argument.type ||
        stored == tensors.end())
      continue;
    fuzz::expectErrorsOnly([&] {
      // A small file may ask for a large tensor; a machine may lack it.
      if (argument.layout.span(argument.name) > 1 << 16 ||
          argument.layout.count(argument.name) > 1 << 16)
        return;
      const std::string packed =
          gather(argument, stored->second, argument.name);
      const GuardedBuffer buffer =
          makeBuffer(argument, stored->second, argument.name);
      fuzz::require(buffer.damage().empty(), "a buffer filled beyond its ends");
      // A file may give one element of memory several values.
      fuzz::require(argument.layout.overlaps() ||
                        gather(argument, buffer.view()) == packed,
                    "a tensor has other elements in memory than in its file");
      fuzz::require(gapDifference(argument, buffer.view(), buffer.view()) == -1,
                    "a buffer that differs from itself");
    });
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string all = fuzz::text(data, size);
  const std::string text = all.substr(0, all.find('\0'));
  fuzz::expectErrorsOnly([&] {
    const Case recorded = readCase(text, "case.json");
    const std::string written = writeCase(recorded);
    fuzz::require(writeCase(readCase(written, "written")) == written,
                  "a case does not survive being written");
    if (text.size() < all.size())
      fuzz::expectErrorsOnly([&] {
        checkTensors(recorded,
                     readSafetensors(all.substr(text.size() + 1), "tensors"));
      });
  });
  return 0;
}
