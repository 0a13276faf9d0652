// support/LanguageGaps.cpp - lists the diagnostics about valid Triton code that
// this build does not support.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/LanguageGaps.h"

#include <string>

namespace tessera {

bool isLanguageGap(DiagnosticId id) {
  switch (id) {
  case DiagnosticId::UnsupportedSyntax:
  case DiagnosticId::InvalidText:
  case DiagnosticId::InvalidNumber:
  case DiagnosticId::InvalidString:
  case DiagnosticId::TooComplex:
  case DiagnosticId::InvalidConstant:
  case DiagnosticId::UnknownConstant:
  case DiagnosticId::ImportFailed:
  case DiagnosticId::NotSupported:
  case DiagnosticId::UnknownAttribute:
  case DiagnosticId::UnknownKeyword:
  case DiagnosticId::CodegenFailed:
    return true;
  default:
    return false;
  }
}

bool namesLanguageGap(std::string_view message) {
#define DIAG(id, severity)                                                     \
  if (isLanguageGap(DiagnosticId::id) &&                                       \
      message.find("[" #id "]") != std::string_view::npos)                     \
    return true;
#include "support/Diagnostics.def"
  return false;
}

} // namespace tessera
