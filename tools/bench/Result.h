// tools/bench/Result.h - figures of a benchmark: judged, printed, written.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Json.h"

#include <filesystem>
#include <string>
#include <vector>

namespace tessera::bench {

// One thing that was measured or counted.
struct Row {
  std::string name;
  int64_t tokens = 0; // of the sequence; 0: not a sequence
  // Of each round; none: nothing was timed.
  std::vector<double> seconds = {};
  // Floating-point operations that it cannot do without, two for each multiply
  // and add; 0: not known.
  double flop = 0;
  // What can be done in a second at most; 0: not known.
  double peak = 0;
  Json more = Json::object(); // other members
  std::string missing = {};   // why there are no figures; empty: there are
};

// A benchmark's file, OUT.json. It is written after each row, so that an
// interrupted run keeps its rows.
class Result {
public:
  // `head` begins the file. `counted`: the member of a row that is printed
  // with its unit: "us", "warp_instructions". Empty `out`: nothing is written.
  Result(Json head, std::filesystem::path out, std::string counted,
         std::string unit);

  // Prints and keeps the row. A rate above the peak is refused: the row says so
  // instead of measurements.
  void add(Row row);
  // Writes the file; rows that were refused or are missing are listed at the
  // end. 0, or 1 where a figure was refused; `interrupted` is noted.
  int finish(bool interrupted);

  const Json &json() const { return all; }

private:
  void write() const;

  Json all;
  const std::filesystem::path out;
  const std::string counted, unit;
};

// "us", "us_least", "us_quartiles", "rounds" of times in seconds, one at least.
Json timesJson(std::vector<double> seconds);

} // namespace tessera::bench
