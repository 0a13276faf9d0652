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

// Returns TESSERA_CACHE_DIR, else $XDG_CACHE_HOME/tessera, else
// ~/.cache/tessera. Returns an empty path if none of these variables is set.
std::filesystem::path defaultCacheFolder();
// Returns TESSERA_CACHE_SIZE in bytes; 0: no limit. Throws Error if the
// variable is not a size.
uint64_t defaultCacheLimit();

struct CacheEntry {
  std::string name; // of the file
  uint64_t bytes = 0;
  // Read from the metadata. All are empty for a bad entry; `build` is also
  // empty in entries of versions that did not record it.
  std::string kernel, target, configuration, build;
  // Time since the entry was stored or last loaded; 0 if the clock was set
  // back.
  std::chrono::seconds age{0};
  bool bad = false;
  std::string reason; // of a bad one
};

// Files of the cache folder that are not entries.
struct CacheLeftovers {
  uint64_t quarantined = 0, quarantinedBytes = 0;
  uint64_t temporaries = 0, temporaryBytes = 0;
  uint64_t locks = 0;
};

struct PruneOptions {
  // nullopt: does not limit by this.
  std::optional<uint64_t> maxBytes; // entries and quarantine together
  std::optional<std::chrono::seconds> olderThan;
  // Keeps only entries made by the compiler with this build id.
  std::optional<std::string> onlyBuild;
  bool dryRun = false;
};
struct PruneResult {
  std::vector<CacheEntry> removed;
  uint64_t kept = 0, keptBytes = 0;
  // Number of quarantined files, temporary files and locks removed.
  uint64_t leftovers = 0;
};

// The cache of compiled kernels on disk. Safe for several threads and
// processes. Throws no Error: if the cache fails, the caller compiles the
// kernel.
//
// A file's modification time records its last use. If the clock was set back,
// times in the future are treated as now and are reset to now on disk.
// Otherwise such an entry would never age.
class Cache {
public:
  // Creates the folder. If another user could change the folder, or this
  // process cannot write to it, warns once with a remedy; the cache then loads
  // and stores nothing. `limit` bounds the bytes of entries and quarantine; 0:
  // no limit.
  explicit Cache(std::filesystem::path folder, uint64_t limit = 0);

  bool usable() const { return isUsable; }
  const std::filesystem::path &folder() const { return root; }
  uint64_t limit() const { return maxBytes; }

  // Returns the artifact stored for `key` and marks its entry as used now.
  // Returns nullopt if there is none, or only a bad one, which it moves to
  // quarantine/ and counts. Takes no lock.
  std::optional<Artifact> load(const Sha256Digest &key);
  // Stores an entry and returns true if it was stored. Warns once about the
  // reason if not. To respect the limit, removes quarantined files first, then
  // the least recently used entries. Readers that have such a file open still
  // read all of it.
  bool store(const Sha256Digest &key, const Artifact &artifact);
  // Returns the lock that a process holds while it compiles the key, so that
  // two processes do not compile the same kernel. If the lock is unavailable,
  // returns an unlocked object, and both may compile it.
  FileLock lock(const Sha256Digest &key);

  uint64_t badEntries() const { return bad; }

  std::filesystem::path entryPath(const Sha256Digest &key) const;
  // Reads and checks every entry. Returns them sorted by kernel.
  std::vector<CacheEntry> list() const;
  CacheLeftovers leftovers() const;
  // Checks every entry, moves bad entries to quarantine/ and returns them. Here
  // and in load(), removes an entry that it cannot move.
  std::vector<CacheEntry> verify();
  // Removes the entries that `options` select and all bad entries. Also removes
  // quarantined files, unused locks, and temporary files older than an hour.
  // With `dryRun`, removes nothing and returns what it would remove.
  PruneResult prune(const PruneOptions &options);
  // Removes entries, quarantined files, unused locks and temporary files.
  // Returns the number of removed entries.
  size_t clear();

private:
  // Moves a bad entry to quarantine/, or removes it if that fails, and warns.
  // `consequence` ends the warning.
  void quarantine(const std::filesystem::path &path, const std::string &reason,
                  const char *consequence = "");
  void makeRoom(const std::filesystem::path &keep);

  std::filesystem::path root;
  uint64_t maxBytes = 0;
  bool isUsable = false;
  std::atomic<uint64_t> bad{0};
};

} // namespace tessera::runtime
