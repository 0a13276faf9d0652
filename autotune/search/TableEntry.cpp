// autotune/search/TableEntry.cpp - creates a table entry from timed
// configurations.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/TableEntry.h"

#include <algorithm>
#include <ctime>

namespace tessera::tune {

std::string utcNow() {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string today() { return utcNow().substr(0, 10); }

size_t fastestOf(const std::vector<TimedChoice> &choices) {
  const auto fastest =
      std::min_element(choices.begin(), choices.end(),
                       [](const TimedChoice &a, const TimedChoice &b) {
                         return a.seconds < b.seconds;
                       });
  return size_t(fastest - choices.begin());
}

TuneEntry entryOf(const TuneKey &key, const std::vector<TimedChoice> &choices,
                  size_t chosen, const std::string &why) {
  TuneEntry entry;
  entry.key = key;
  entry.use = choices[chosen].use;
  entry.timeUs = choices[chosen].seconds * 1e6;
  entry.spread = choices[chosen].spread;
  entry.defaultUs = choices[0].seconds * 1e6;
  entry.date = today();
  entry.why = why;
  std::vector<TimedChoice> others = choices;
  others.erase(others.begin() + int64_t(chosen));
  if (!others.empty()) {
    const TimedChoice &next = others[fastestOf(others)];
    entry.runnerUp = next.use;
    entry.runnerUpUs = next.seconds * 1e6;
  }
  return entry;
}

} // namespace tessera::tune
