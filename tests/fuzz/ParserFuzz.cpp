// tests/fuzz/ParserFuzz.cpp - any bytes as a kernel file and as an expression.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/Parser.h"
#include "tests/fuzz/Fuzz.h"

using namespace tessera;
using namespace tessera::language;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto file =
      std::make_shared<const SourceFile>("k.py", fuzz::text(data, size));
  const ParseResult result = parse(file);
  fuzz::require(result.module != nullptr, "no module");
  fuzz::require(result.diagnostics.size() <= maxDiagnostics + 1,
                "more diagnostics than the limit");
  fuzz::checkDiagnostics(result.diagnostics);
  fuzz::expectErrorsOnly([&] { parseExpression(file); });
  return 0;
}
