// support/Error.h - the exceptions of tessera.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Diagnostics.h"

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// Exceptions cross the boundaries of our shared libraries, so their type
// information must be exported.
#define TESSERA_EXCEPTION __attribute__((visibility("default")))

namespace tessera {

// An error that a user can cause. The hint tells the user what to do; what()
// contains both.
class TESSERA_EXCEPTION Error : public std::runtime_error {
public:
  explicit Error(std::string message, std::string hint = {})
      : std::runtime_error(hint.empty() ? message
                                        : message + "\nHINT: " + hint),
        message(std::move(message)), hint(std::move(hint)) {}

  std::string message;
  std::string hint;
};

// A kernel does not compile. what() contains the rendered diagnostics.
class TESSERA_EXCEPTION CompileError : public Error {
public:
  explicit CompileError(std::vector<Diagnostic> diagnostics)
      : Error(renderDiagnostics(diagnostics)),
        diagnostics(std::move(diagnostics)) {}
  explicit CompileError(std::string rendered) : Error(std::move(rendered)) {}

  std::vector<Diagnostic> diagnostics;
};

} // namespace tessera
