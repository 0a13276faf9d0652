// autotune/search/Times.h - what is known of configurations, each by itself, in
// a file.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/search/Benchmark.h"
#include "autotune/table/TuneTable.h"

#include <filesystem>
#include <map>
#include <set>
#include <string>

namespace tessera::tune {

struct KnownTime {
  std::string problem; // why the configuration is excluded; empty: it is right
  Sample seconds;      // of one that is right
  int64_t samples = 0;
  std::string what; // for people: "window_fwd BM=64 BN=32"

  // What was timed, for a landscape of configurations; empty in files that were
  // written before these were.
  std::string entry;  // withoutLength() of the key
  std::string text;   // TuneKey::textHash
  int64_t bucket = 0; // TuneKey::bucket
  std::string choice; // describe() of what the candidate sets
  bool own = false;   // the kernel's own choice

  // Fills in what was timed.
  void setCandidate(const TuneKey &key, const TuneChoice &use, bool isOwn);

  bool operator==(const KnownTime &) const = default;
};

// describe() of the key for any length: what its entries have in common.
std::string withoutLength(TuneKey key);

// Times of earlier runs: a candidate more or less in a search space times none
// of the others again.
class Times {
public:
  // What is in the file; nothing when there is none, and a warning when it is
  // damaged.
  static Times read(const std::filesystem::path &file);
  // Adds what was set since the file was read to what it holds now: another
  // process may have written to it meanwhile. Throws Error.
  void write(const std::filesystem::path &file);

  const KnownTime *find(const std::string &key) const;
  void set(const std::string &key, KnownTime time) {
    known[key] = std::move(time);
    changed.insert(key);
  }
  size_t size() const { return known.size(); }
  const std::map<std::string, KnownTime> &all() const { return known; }

private:
  std::map<std::string, KnownTime> known;
  std::set<std::string> changed; // since they were read or written
};

// The file beside a table.
std::filesystem::path timesFile(const std::filesystem::path &table);

} // namespace tessera::tune
