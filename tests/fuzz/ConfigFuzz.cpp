// tests/fuzz/ConfigFuzz.cpp - a training config, with overrides after a NUL
// byte, one a line.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/Fuzz.h"
#include "trainer/settings/Config.h"
#include "trainer/settings/Document.h"

#include <nlohmann/json.hpp>

using namespace tessera;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string all = fuzz::text(data, size);
  const std::string text = all.substr(0, all.find('\0'));
  std::vector<std::string> overrides;
  for (size_t begin = text.size() + 1; begin < all.size();) {
    const size_t end = std::min(all.find('\n', begin), all.size());
    overrides.push_back(all.substr(begin, end - begin));
    begin = end + 1;
  }
  fuzz::expectErrorsOnly([&] {
    const auto config = trainer::parseConfig(text, "run.yaml", overrides);
    fuzz::require(!trainer::describe(config).empty(), "no description");
    // config.json of a run folder is read as a config again.
    const auto json = trainer::toJson(config);
    std::string written;
    try {
      written = json.dump();
    } catch (const nlohmann::json::exception &) {
      return; // text that is not UTF-8
    }
    fuzz::require(trainer::toJson(
                      trainer::parseConfig(written, "config.json", {})) == json,
                  "a config does not survive being written");
    fuzz::require(trainer::toJson(trainer::configFromJson(json, "x")) == json,
                  "a config does not come back from its JSON");
  });
  return 0;
}
