// tests/fuzz/ManifestFuzz.cpp - decorators, hints, expansion and manifest of a
// kernel file.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/Expand.h"
#include "language/Manifest.h"
#include "support/Json.h"
#include "tests/fuzz/Fuzz.h"

using namespace tessera;
using namespace tessera::language;

static std::optional<std::string> noFiles(const std::string &) {
  return std::nullopt;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz::expectErrorsOnly([&] {
    auto program = Program::load("k.py", fuzz::text(data, size), noFiles);
    fuzz::expectErrorsOnly([&] {
      const Json manifest = parseJson(manifestJson(*program), "manifest");
      fuzz::require(manifest.contains("kernels"), "a manifest of nothing");
    });
    for (const StmtPtr &stmt : program->main().body) {
      auto *function = stmt->as<FunctionDef>();
      if (!function)
        continue;
      fuzz::expectErrorsOnly([&] {
        // Throws Error if the function is not jitted. Another definition of the
        // name may replace this one.
        if (&program->kernel(function->name) != function)
          return;
        // What is compiled is what is hashed: the canonical form is a kernel
        // file again, and stays as it is from then on. (Once more than one
        // would think: an import that only a dropped decorator used goes.)
        std::string text = expand(*program, *function).text;
        std::string before;
        for (int i = 0; i < 2; ++i)
          try {
            before = text;
            auto next = Program::load("k.py", text, noFiles);
            text = expand(*next, next->kernel(function->name)).text;
          } catch (const Error &error) {
            std::fprintf(stderr, "%s\n%s\n", before.c_str(), error.what());
            fuzz::require(false, "the canonical form is not a kernel file");
          }
        if (text != before)
          std::fprintf(stderr, "once:\n%s\nagain:\n%s\n", before.c_str(),
                       text.c_str());
        fuzz::require(text == before, "the canonical form is not canonical");
      });
    }
  });
  return 0;
}
