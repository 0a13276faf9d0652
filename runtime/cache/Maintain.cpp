// runtime/cache/Maintain.cpp - listing, checking and pruning of a cache folder.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/Cache.h"
#include "runtime/cache/Scan.h"

#include <algorithm>
#include <tuple>

namespace tessera::runtime {

namespace fs = std::filesystem;

// Writing an entry takes milliseconds. An older temporary file was left by a
// process that died.
static constexpr std::chrono::seconds temporaryAge{3600};

static CacheEntry describe(const CacheFile &file, const timespec &now) {
  CacheEntry entry;
  entry.name = file.path.filename().string();
  entry.bytes = file.bytes;
  entry.age = ageOf(file, now);
  auto key = keyOfEntry(file.path);
  std::optional<Artifact> artifact;
  if (!key)
    entry.reason = "its name is not a key";
  else
    artifact = readEntry(file.path, *key, entry.reason);
  if (!artifact) {
    if (entry.reason.empty())
      entry.reason = "cannot be read";
    entry.bad = true;
    return entry;
  }
  auto text = [&](const char *name) {
    auto found = artifact->meta.find(name);
    return found != artifact->meta.end() && found->is_string()
               ? found->get<std::string>()
               : std::string();
  };
  entry.kernel = text("kernel");
  entry.target = text("target");
  entry.configuration = text("configuration");
  entry.build = text("build");
  return entry;
}

static void sortByKernel(std::vector<CacheEntry> &entries) {
  std::sort(entries.begin(), entries.end(),
            [](const CacheEntry &a, const CacheEntry &b) {
              return std::tie(a.kernel, a.configuration, a.name) <
                     std::tie(b.kernel, b.configuration, b.name);
            });
}

std::vector<CacheEntry> Cache::list() const {
  std::vector<CacheEntry> entries;
  const timespec now = cacheClock();
  for (const CacheFile &file : scanCache(root).entries)
    entries.push_back(describe(file, now));
  sortByKernel(entries);
  return entries;
}

CacheLeftovers Cache::leftovers() const {
  CacheLeftovers result;
  const CacheScan scan = scanCache(root);
  for (const CacheFile &file : scan.quarantine)
    result.quarantinedBytes += file.bytes;
  for (const CacheFile &file : scan.temporaries)
    result.temporaryBytes += file.bytes;
  result.quarantined = scan.quarantine.size();
  result.temporaries = scan.temporaries.size();
  result.locks = scan.locks.size();
  return result;
}

std::vector<CacheEntry> Cache::verify() {
  std::vector<CacheEntry> damaged;
  for (CacheEntry &entry : list())
    if (entry.bad) {
      quarantine(root / entry.name, entry.reason);
      damaged.push_back(std::move(entry));
    }
  return damaged;
}

PruneResult Cache::prune(const PruneOptions &options) {
  PruneResult result;
  const bool remove = !options.dryRun;
  // Shares the lock of makeRoom(), so that two processes do not count the same
  // files, unless another process holds it for longer than an eviction takes.
  auto alone = isUsable
                   ? FileLock::acquireWithin(evictionWait, evictionLock(root))
                   : std::nullopt;
  CacheScan scan = scanCache(root);
  const timespec now = cacheClock();
  sortByUse(scan.entries, now);

  std::vector<std::pair<CacheFile, CacheEntry>> kept;
  auto drop = [&](const CacheFile &file, CacheEntry entry) {
    if (remove && !removeUnchanged(file))
      return false;
    result.removed.push_back(std::move(entry));
    return true;
  };
  for (const CacheFile &file : scan.entries) {
    CacheEntry entry = describe(file, now);
    // A bad entry is never loaded, so every prune removes it.
    const bool goes =
        entry.bad || (options.onlyBuild && entry.build != *options.onlyBuild) ||
        (options.olderThan && entry.age > *options.olderThan);
    if (goes && drop(file, entry))
      continue;
    result.keptBytes += file.bytes;
    kept.emplace_back(file, std::move(entry));
  }
  result.kept = kept.size();
  if (options.maxBytes)
    for (auto &[file, entry] : kept) {
      if (result.keptBytes <= *options.maxBytes)
        break;
      if (!drop(file, entry))
        continue;
      result.keptBytes -= file.bytes;
      --result.kept;
    }

  std::error_code error;
  for (const CacheFile &file : scan.quarantine)
    result.leftovers += !remove || fs::remove(file.path, error);
  for (const CacheFile &file : scan.temporaries)
    if (ageOf(file, now) > temporaryAge)
      result.leftovers += !remove || fs::remove(file.path, error);
  for (const CacheFile &file : scan.locks)
    if (file.path != evictionLock(root))
      result.leftovers += !remove || FileLock::removeUnused(file.path);
  sortByKernel(result.removed);
  return result;
}

size_t Cache::clear() {
  size_t removed = 0;
  std::error_code error;
  const CacheScan scan = scanCache(root);
  for (const CacheFile &file : scan.entries)
    removed += fs::remove(file.path, error);
  for (const CacheFile &file : scan.temporaries)
    fs::remove(file.path, error);
  fs::remove_all(root / "quarantine", error);
  for (const CacheFile &file : scan.locks)
    FileLock::removeUnused(file.path);
  return removed;
}

} // namespace tessera::runtime
