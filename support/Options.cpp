// support/Options.cpp - the registry of TESSERA_* environment variables.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/Options.h"

#include "support/Error.h"
#include "support/Log.h"
#include "support/Names.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <unistd.h>

namespace tessera {

const std::vector<OptionInfo> &optionTable() {
  static const std::vector<OptionInfo> table = {
#define OPTION(id, name, fallback, affectsCache, doc)                          \
  {name, fallback, affectsCache, doc},
#include "support/Options.def"
  };
  return table;
}

const OptionInfo &optionInfo(Option option) {
  return optionTable()[size_t(option)];
}

std::string optionText(Option option) {
  const OptionInfo &info = optionInfo(option);
  const char *value = std::getenv(info.name);
  return value && *value ? value : info.fallback;
}

int64_t optionNumber(Option option) {
  const std::string text = optionText(option);
  int64_t value = -1;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0)
    throw Error(std::string(optionInfo(option).name) + "=" + text +
                    " is not a whole number",
                "set it to a number like " +
                    std::string(optionInfo(option).fallback) + ", or unset it");
  return value;
}

std::vector<std::string> unknownOptions() {
  std::vector<std::string> known;
  for (const OptionInfo &info : optionTable())
    known.push_back(info.name);
  std::vector<std::string> lines;
  for (char **entry = environ; entry && *entry; ++entry) {
    std::string_view text = *entry;
    std::string name(text.substr(0, text.find('=')));
    if (name.rfind("TESSERA_", 0) != 0 ||
        std::find(known.begin(), known.end(), name) != known.end())
      continue;
    std::string near = nearestName(name, known);
    lines.push_back("environment variable " + name +
                    " is not known to tessera" +
                    (near.empty() ? "" : "; did you mean " + near + "?"));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

void warnUnknownOptions() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (const std::string &line : unknownOptions())
      logWarning(line);
  });
}

} // namespace tessera
