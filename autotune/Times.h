// autotune/Times.h - what is known of configurations, each by itself, in a
// file. Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/Benchmark.h"

#include <filesystem>
#include <map>
#include <string>

namespace tessera::tune {

struct KnownTime {
  std::string problem; // why the configuration is excluded; empty: it is right
  Sample seconds;      // of one that is right
  int64_t samples = 0;
  std::string what; // for people: "window_fwd BM=64 BN=32"

  bool operator==(const KnownTime &) const = default;
};

// Times of earlier runs: a candidate more or less in a search space times none
// of the others again.
class Times {
public:
  // What is in the file; nothing when there is none, and a warning when it is
  // damaged.
  static Times read(const std::filesystem::path &file);
  // Throws Error.
  void write(const std::filesystem::path &file) const;

  const KnownTime *find(const std::string &key) const;
  void set(const std::string &key, KnownTime time) {
    known[key] = std::move(time);
  }
  size_t size() const { return known.size(); }

private:
  std::map<std::string, KnownTime> known;
};

// The file beside a table.
std::filesystem::path timesFile(const std::filesystem::path &table);

} // namespace tessera::tune
