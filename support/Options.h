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

// Returns the variable's current value, or its default if unset or empty.
std::string optionText(Option option);
// Returns the value as a number. Throws Error unless it is an integer >= 0.
int64_t optionNumber(Option option);

// Returns one line for each TESSERA_* variable of the environment outside of
// the registry, with the nearest registered name.
std::vector<std::string> unknownOptions();
// Logs those lines as warnings, once per process.
void warnUnknownOptions();

} // namespace tessera
