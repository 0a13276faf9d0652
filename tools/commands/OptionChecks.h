// tools/commands/OptionChecks.h - checks of option values that several commands
// share.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Text.h"

#include <CLI/CLI.hpp>

#include <string>

namespace tessera::tools {

// Refuses an empty text: `--device ""` is often a variable without a value.
inline CLI::Validator notEmpty() {
  return CLI::Validator(
      [](std::string &text) {
        return text.empty() ? std::string("the value is empty") : std::string();
      },
      "");
}

// Refuses numbers that are not above 0. CLI::PositiveNumber prints the largest
// double, 308 digits, with each refusal.
inline CLI::Validator positiveNumber() {
  return CLI::Validator(
      [](std::string &text) {
        const auto value = numberFromText<double>(text);
        return value && *value > 0 ? std::string()
                                   : text + " is not a number above 0";
      },
      "POSITIVE");
}

} // namespace tessera::tools
