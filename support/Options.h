// support/Options.h - the registry of TESSERA_* environment variables.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

enum class Option {
#define OPTION(id, name, fallback, affectsCache, doc) id,
#include "support/Options.def"
};

struct OptionInfo {
  const char *name;
  const char *fallback;
  bool affectsCache; // part of the key of cached artifacts
  const char *doc;
};

const std::vector<OptionInfo> &optionTable();
const OptionInfo &optionInfo(Option option);

// The variable's value now, or its default; set and empty means the default.
std::string optionText(Option option);
// Throws Error when the value is not a whole number >= 0.
int64_t optionNumber(Option option);

// One line for every TESSERA_* variable of the environment that is not in the
// registry, with the nearest name that is.
std::vector<std::string> unknownOptions();
// Logs those lines as warnings, once per process.
void warnUnknownOptions();

} // namespace tessera
