// runtime/cache/Cache.h - compiled kernels on disk, one file per artifact.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/cache/Artifact.h"
#include "support/File.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tessera::runtime {

// TESSERA_CACHE_DIR, else $XDG_CACHE_HOME/tessera, else ~/.cache/tessera;
// empty when none of the three is set.
std::filesystem::path defaultCacheFolder();
// TESSERA_CACHE_SIZE in bytes; 0: no limit. Throws Error when it is no size.
uint64_t defaultCacheLimit();

struct CacheEntry {
  std::string name; // of the file
  uint64_t bytes = 0;
  // From the metadata; empty for a bad entry, `build` also for one written
  // before it was recorded.
  std::string kernel, target, configuration, build;
  // Since the entry was stored or last loaded; 0 where the clock went back.
  std::chrono::seconds age{0};
  bool bad = false;
  std::string reason; // of a bad one
};

// What lies in the folder beside the entries.
struct CacheLeftovers {
  uint64_t quarantined = 0, quarantinedBytes = 0;
  uint64_t temporaries = 0, temporaryBytes = 0;
  uint64_t locks = 0;
};

struct PruneOptions {
  // None: not asked for.
  std::optional<uint64_t> maxBytes; // entries and quarantine together
  std::optional<std::chrono::seconds> olderThan;
  // Remove what compilers of another build id made.
  std::optional<std::string> onlyBuild;
  bool dryRun = false;
};
struct PruneResult {
  std::vector<CacheEntry> removed;
  uint64_t kept = 0, keptBytes = 0;
  uint64_t leftovers = 0; // quarantined files, temporaries and locks that went
};

// Thread-safe, and safe among processes. Never throws: a cache that does not
// work costs time, not the run.
//
// A file's modification time is when it was last used. Times in the future (the
// clock was set back) count as now and are set to now when seen, so that such
// an entry ages like any other.
class Cache {
public:
  // Creates the folder. Where native code must not or cannot be kept in it,
  // warns once with what to run and stays unusable. `limit`: most bytes that
  // entries and quarantine may take, 0 for any number.
  explicit Cache(std::filesystem::path folder, uint64_t limit = 0);

  bool usable() const { return isUsable; }
  const std::filesystem::path &folder() const { return root; }
  uint64_t limit() const { return maxBytes; }

  // Takes no lock. A bad entry is moved to quarantine/ and counted.
  std::optional<Artifact> load(const Sha256Digest &key);
  // Removes others where the limit asks for it: quarantine first, then the
  // least recently used. Readers that have such a file open still read it
  // whole. Whether the entry was stored; what keeps it out is warned of once.
  bool store(const Sha256Digest &key, const Artifact &artifact);
  // Held around a compilation, so that processes do not do the same work.
  FileLock lock(const Sha256Digest &key);

  uint64_t badEntries() const { return bad; }

  std::filesystem::path entryPath(const Sha256Digest &key) const;
  // Sorted by kernel. Every entry is read and checked.
  std::vector<CacheEntry> list() const;
  CacheLeftovers leftovers() const;
  // Checks every entry; the bad ones, which go to quarantine.
  std::vector<CacheEntry> verify();
  // Also removes quarantine, locks nobody holds and temporaries of an hour ago.
  PruneResult prune(const PruneOptions &options);
  // Removes entries, quarantine, locks and leftover temporaries; the number of
  // entries that went.
  size_t clear();

private:
  void quarantine(const std::filesystem::path &path, const std::string &reason);
  void makeRoom(const std::filesystem::path &keep);

  std::filesystem::path root;
  uint64_t maxBytes = 0;
  bool isUsable = false;
  std::atomic<uint64_t> bad{0};
};

} // namespace tessera::runtime
