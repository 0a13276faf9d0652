// tests/fuzz/RequestFuzz.cpp - JSON of requests, results and launches.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/Request.h"
#include "runtime/Kernel.h"
#include "tests/fuzz/Fuzz.h"

using namespace tessera;
using namespace tessera::language;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string text = fuzz::text(data, size);
  fuzz::expectErrorsOnly([&] {
    const CompileRequest request = CompileRequest::fromJson(text);
    const std::string json = request.toJson();
    const CompileRequest again = CompileRequest::fromJson(json);
    fuzz::require(again.toJson() == json && again.key() == request.key(),
                  "a request does not survive being written");
  });
  fuzz::expectErrorsOnly([&] {
    const CompileResult result = CompileResult::fromJson(text);
    const std::string json = result.toJson();
    fuzz::require(CompileResult::fromJson(json).toJson() == json,
                  "a result does not survive being written");
  });
  fuzz::expectErrorsOnly([&] { constexprsFromJson(text); });
  return 0;
}
