// tools/bench/Result.cpp - checks, prints and writes the results of a
// benchmark.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/Result.h"

#include "support/File.h"
#include "tools/bench/Machine.h"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>

namespace tessera::bench {

namespace {

std::string timeText(double us) {
  return us < 1     ? fmt::format("{:.1f} ns", us * 1e3)
         : us < 1e3 ? fmt::format("{:.2f} us", us)
         : us < 1e6 ? fmt::format("{:.3f} ms", us / 1e3)
                    : fmt::format("{:.3f} s", us / 1e6);
}

// Returns "dense  2048 tokens  1.23 ms (1.20 .. 1.30), 12.3 GFLOP/s, 45% of the
// peak".
std::string line(const Json &row, const std::string &counted,
                 const std::string &unit) {
  std::string text = fmt::format("{:<34}", row["name"].get<std::string>());
  if (row.contains("tokens"))
    text += fmt::format(" {:>7} tokens", row["tokens"].get<int64_t>());
  for (const char *why : {"refused", "missing"})
    if (row.contains(why))
      return text + "  " + why + ": " + row[why].get<std::string>();
  if (row.contains("us")) {
    const Json &quartiles = row["us_quartiles"];
    text += fmt::format("  {:>11} ({} .. {})", timeText(row["us"]),
                        timeText(quartiles[0]), timeText(quartiles[1]));
  }
  if (counted != "us" && row.contains(counted))
    text += fmt::format("  {:.6g} {}", row[counted].get<double>(), unit);
  if (row.contains("predicted_us"))
    text += fmt::format("  predicted {}", timeText(row["predicted_us"]));
  if (row.contains("flop_per_s"))
    text +=
        fmt::format("  {:.1f} GFLOP/s", row["flop_per_s"].get<double>() / 1e9);
  if (row.contains("flop_of_peak"))
    text += fmt::format(", {:.0f}% of the peak",
                        100 * row["flop_of_peak"].get<double>());
  return text;
}

Json rowJson(Row row) {
  Json json = std::move(row.more);
  json["name"] = row.name;
  if (row.tokens)
    json["tokens"] = row.tokens;
  if (!row.missing.empty()) {
    json["missing"] = row.missing;
    return json;
  }
  if (row.flop > 0)
    json["flop"] = row.flop;
  if (row.seconds.empty())
    return json;
  Json times = timesJson(std::move(row.seconds));
  const double rate = row.flop / (times["us"].get<double>() * 1e-6);
  if (row.flop > 0 && row.peak > 0 && rate > row.peak) {
    json["refused"] = fmt::format(
        "{:.3g} FLOP/s would be above the hardware's peak of {:.3g}", rate,
        row.peak);
    return json;
  }
  json.update(times);
  if (row.flop > 0) {
    json["flop_per_s"] = rate;
    if (row.peak > 0)
      json["flop_of_peak"] = rate / row.peak;
  }
  return json;
}

} // namespace

Json timesJson(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  const size_t n = seconds.size();
  const auto us = [&](size_t i) { return seconds[i] * 1e6; };
  return {{"us", us(n / 2)},
          {"us_least", us(0)},
          {"us_quartiles", {us(n / 4), us(std::min(n * 3 / 4, n - 1))}},
          {"rounds", n}};
}

Result::Result(Json head, std::filesystem::path out, std::string counted,
               std::string unit)
    : all(std::move(head)), out(std::move(out)), counted(std::move(counted)),
      unit(std::move(unit)) {
  all["rows"] = Json::array();
  all["complete"] = false;
  write(); // reports an unwritable file before any measurement
}

void Result::add(Row row) {
  all["rows"].push_back(rowJson(std::move(row)));
  std::printf("%s\n", line(all["rows"].back(), counted, unit).c_str());
  std::fflush(stdout);
  write();
}

int Result::finish(bool interrupted) {
  all["complete"] = !interrupted;
  all["load"]["after"] = loadAverage();
  write();
  int refused = 0;
  for (const Json &row : all["rows"])
    refused += row.contains("refused");
  if (!out.empty())
    std::printf("figures: %s.json\n", out.c_str());
  if (refused)
    std::fprintf(stderr,
                 "tessera: error: %d figures are above what the hardware can "
                 "do, and are refused\nHINT: the work was not done, or the "
                 "clock is wrong: measure again on an idle machine\n",
                 refused);
  return refused ? 1 : 0;
}

void Result::write() const {
  if (!out.empty())
    writeOutput(out.string() + ".json", all.dump(1) + "\n");
}

} // namespace tessera::bench
