// autotune/search/Times.h - a file with the result of each timed configuration.
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
  std::string problem; // why the configuration is excluded; empty: correct
  Sample seconds;      // of a correct configuration
  int64_t samples = 0;
  std::string what; // for people: "window_fwd BM=64 BN=32"

  // Describes the configuration, for a plot of the search space. Empty in files
  // of versions that did not write these members.
  std::string entry;  // withoutLength() of the key
  std::string text;   // TuneKey::textHash
  int64_t bucket = 0; // TuneKey::bucket
  std::string choice; // describe() of what the candidate sets
  bool own = false;   // the kernel's default configuration

  // Sets the members that describe the configuration.
  void setCandidate(const TuneKey &key, const TuneChoice &use, bool isOwn);

  bool operator==(const KnownTime &) const = default;
};

// Returns describe() of the key without its length.
std::string withoutLength(TuneKey key);

// Times of earlier runs. Each configuration has its own entry, so a changed
// search space reuses the times of all others.
class Times {
public:
  // Reads the file. Returns no times if it does not exist; warns if it is
  // damaged.
  static Times read(const std::filesystem::path &file);
  // Adds the changed times to the file's current contents, because another
  // process may have written to it. Throws Error.
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

// Returns the path of a table's file of times, in the same folder.
std::filesystem::path timesFile(const std::filesystem::path &table);

} // namespace tessera::tune
