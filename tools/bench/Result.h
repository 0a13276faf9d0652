// tools/bench/Result.h - checks, prints and writes the results of a benchmark.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Json.h"

#include <filesystem>
#include <string>
#include <vector>

namespace tessera::bench {

// The result of one measurement or count.
struct Row {
  std::string name;
  int64_t tokens = 0; // of the sequence; 0: not a sequence
  // Times of each round; empty: nothing was timed.
  std::vector<double> seconds = {};
  // Minimum number of floating-point operations, two for each multiply and add;
  // 0: unknown.
  double flop = 0;
  // Peak operations per second; 0: unknown.
  double peak = 0;
  Json more = Json::object(); // other members
  std::string missing = {};   // why the row has no numbers; empty: it has
};

// A benchmark's file, OUT.json. It is written after each row, so that an
// interrupted run keeps its rows.
class Result {
public:
  // `head` begins the file. `counted`: the member of a row that is printed with
  // its unit: "us", "warp_instructions". Empty `out`: writes nothing.
  Result(Json head, std::filesystem::path out, std::string counted,
         std::string unit);

  // Prints and stores the row. Refuses a rate above the peak: the row then
  // contains the reason instead of measurements.
  void add(Row row);
  // Writes the file and lists refused and missing rows at the end. Returns 0,
  // or 1 if a number was refused. Records `interrupted`.
  int finish(bool interrupted);

  const Json &json() const { return all; }

private:
  void write() const;

  Json all;
  const std::filesystem::path out;
  const std::string counted, unit;
};

// Returns "us", "us_least", "us_quartiles", "rounds" of at least one time in
// seconds.
Json timesJson(std::vector<double> seconds);

} // namespace tessera::bench
