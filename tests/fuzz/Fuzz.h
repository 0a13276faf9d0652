// tests/fuzz/Fuzz.h - what the fuzz targets have in common.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A target is one function over bytes. Under clang (TESSERA_FUZZ) libFuzzer
// drives it; everywhere else Standalone.cpp does, over the corpus and a fixed
// number of mutations.
#pragma once

#include "support/Diagnostics.h"
#include "support/Error.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

namespace tessera::fuzz {

inline std::string text(const uint8_t *data, size_t size) {
  return std::string(reinterpret_cast<const char *>(data), size);
}

// A finding that is not a crash by itself.
inline void require(bool good, const char *what) {
  if (good)
    return;
  std::fprintf(stderr, "fuzz: %s\n", what);
  std::abort();
}

// Errors are answers: they must say something. All else that is thrown is a
// finding.
template <typename F>
void expectErrorsOnly(F &&body) {
  try {
    body();
  } catch (const Error &error) {
    require(error.what()[0] != '\0', "an Error without a text");
    // Whether a seed is read to its end is worth seeing.
    static const bool verbose = std::getenv("FUZZ_VERBOSE") != nullptr;
    if (verbose)
      std::fprintf(stderr, "%s\n", error.what());
  }
}

// True if the range is inside of the file, or right after a line's or its end.
inline bool isPlaceIn(const SourceFile &file, const SourceRange &range) {
  if (range.line == 0 || range.line > file.lineCount() + 1)
    return false;
  // A carriage return is part of a line for columns, but not of its text.
  return range.column >= 1 &&
         range.column <= file.line(range.line).size() + 2 &&
         (range.endLine > range.line || range.endColumn >= range.column);
}

// Diagnostics point into the file they name, or nowhere.
inline void checkDiagnostics(const std::vector<Diagnostic> &diagnostics) {
  for (const Diagnostic &diagnostic : diagnostics) {
    require(!diagnostic.message.empty(), "a diagnostic without a text");
    if (diagnostic.file && diagnostic.range.known())
      require(isPlaceIn(*diagnostic.file, diagnostic.range),
              "a diagnostic past the end of its line or file");
  }
  require(diagnostics.empty() || !renderDiagnostics(diagnostics).empty(),
          "diagnostics that render to nothing");
}

} // namespace tessera::fuzz
