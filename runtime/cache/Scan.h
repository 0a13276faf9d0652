// runtime/cache/Scan.h - what files a cache folder holds.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/cache/Artifact.h"
#include "support/Hash.h"

#include <chrono>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tessera::runtime {

inline constexpr const char *entrySuffix = ".tk";

struct CacheFile {
  std::filesystem::path path;
  uint64_t bytes = 0;
  timespec used = {0, 0}; // modification time
};

// The regular files of a cache folder. A folder that cannot be read is empty.
struct CacheScan {
  std::vector<CacheFile> entries, quarantine, temporaries, locks;
};
CacheScan scanCache(const std::filesystem::path &root);

// Returns the file whose lock a process holds while it counts and removes
// entries.
inline std::filesystem::path evictionLock(const std::filesystem::path &root) {
  return root / "locks" / "eviction";
}
// How long a process waits for that lock. An eviction takes milliseconds.
inline constexpr std::chrono::seconds evictionWait(3);

// Reads and checks an entry. Returns nullopt with a `reason` for a bad entry
// and for one that is not trusted (support/Trust.h), nullopt without a reason
// for one that cannot be opened.
std::optional<Artifact> readEntry(const std::filesystem::path &path,
                                  const Sha256Digest &key, std::string &reason);

// Returns the key that an entry's file name encodes.
std::optional<Sha256Digest> keyOfEntry(const std::filesystem::path &path);

// Returns the current time of the clock that stamps files.
timespec cacheClock();
// Returns the time since the file was last used, at least 0. Resets a time in
// the future to now on disk.
std::chrono::seconds ageOf(const CacheFile &file, const timespec &now);
// Marks the file as used now.
void touchFile(const std::filesystem::path &path);
// Sorts by time of use, earliest first, then by name. A time in the future
// counts as now.
void sortByUse(std::vector<CacheFile> &files, const timespec &now);
// Removes the file unless it was used or replaced since the scan.
bool removeUnchanged(const CacheFile &file);

} // namespace tessera::runtime
