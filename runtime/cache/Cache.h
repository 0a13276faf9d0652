// runtime/cache/Cache.h - compiled kernels on disk, one file per artifact.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/cache/Artifact.h"
#include "support/File.h"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tessera::runtime {

// TESSERA_CACHE_DIR, else $XDG_CACHE_HOME/tessera, else ~/.cache/tessera;
// empty when none of the three is set.
std::filesystem::path defaultCacheFolder();

struct CacheEntry {
  std::string name; // of the file
  uint64_t bytes = 0;
  std::string kernel; // from the metadata; empty for a bad entry
  std::string target;
  bool bad = false;
};

// Thread-safe, and safe among processes. Never throws: a cache that does not
// work costs time, not the run.
class Cache {
public:
  // Creates the folder. Where native code must not or cannot be kept in it,
  // warns once with what to run and stays unusable.
  explicit Cache(std::filesystem::path folder);

  bool usable() const { return isUsable; }
  const std::filesystem::path &folder() const { return root; }

  // Takes no lock. A bad entry is moved to quarantine/ and counted.
  std::optional<Artifact> load(const Sha256Digest &key);
  void store(const Sha256Digest &key, const Artifact &artifact);
  // Held around a compilation, so that processes do not do the same work.
  FileLock lock(const Sha256Digest &key);

  uint64_t badEntries() const { return bad; }

  std::filesystem::path entryPath(const Sha256Digest &key) const;
  std::vector<CacheEntry> list() const;
  // Removes entries, quarantine, locks and leftover temporaries; the number of
  // entries that went.
  size_t clear();

private:
  void quarantine(const std::filesystem::path &path, const std::string &reason);

  std::filesystem::path root;
  bool isUsable = false;
  std::atomic<uint64_t> bad{0};
};

} // namespace tessera::runtime
