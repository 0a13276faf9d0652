// support/OptionValues.cpp - checks values of environment variables.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/OptionValues.h"

#include "support/Error.h"
#include "support/Lists.h"
#include "support/Options.h"

#include <array>
#include <string>
#include <string_view>

namespace tessera {

void checkOptionValues() {
  // The names that spdlog::level::from_str() knows.
  constexpr std::array<std::string_view, 9> levels = {
      "trace", "debug", "info",     "warning", "warn",
      "error", "err",   "critical", "off"};
  const std::string level = optionText(Option::LogLevel);
  if (!isListed(levels, level))
    throw Error(std::string(optionInfo(Option::LogLevel).name) + "=" + level +
                    " is not a level",
                "set it to debug, info, warning, error or off, or unset it");
  optionNumber(Option::PrintLimit); // throws
}

} // namespace tessera
