// runtime/cache/Cache.cpp - compiled kernels on disk, one file per artifact.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/Cache.h"

#include "runtime/cache/Scan.h"
#include "support/Log.h"
#include "support/Options.h"
#include "support/Quantities.h"

#include <algorithm>
#include <cstdlib>

namespace tessera::runtime {

namespace fs = std::filesystem;

fs::path defaultCacheFolder() {
  if (std::string folder = optionText(Option::CacheDir); !folder.empty())
    return folder;
  if (const char *folder = std::getenv("XDG_CACHE_HOME"); folder && *folder)
    return fs::path(folder) / "tessera";
  if (const char *home = std::getenv("HOME"); home && *home)
    return fs::path(home) / ".cache" / "tessera";
  return {};
}

uint64_t defaultCacheLimit() {
  return parseBytes(optionText(Option::CacheSize),
                    optionInfo(Option::CacheSize).name);
}

static void warnUnusable(const fs::path &folder, const std::string &reason,
                         const std::string &hint) {
  warnOnce("cache " + folder.string(),
           "compiled kernels are not cached on disk: " + reason + "; " + hint);
}

Cache::Cache(fs::path folder, uint64_t limit)
    : root(std::move(folder)), maxBytes(limit) {
  if (root.empty()) {
    warnUnusable(root, "no home directory is set",
                 "set TESSERA_CACHE_DIR to a folder");
    return;
  }
  try {
    std::error_code ignored;
    if (!fs::exists(root, ignored))
      makePrivateFolder(root);
    FolderCheck check = checkPrivateFolder(root);
    if (check.state != FolderState::Good) {
      warnUnusable(root, check.reason, check.hint);
      return;
    }
    makePrivateFolder(root / "locks");
    isUsable = true;
  } catch (const Error &error) {
    warnUnusable(root, error.message,
                 "set TESSERA_CACHE_DIR to a folder that you may write to");
  } catch (const fs::filesystem_error &error) {
    warnUnusable(root, error.what(),
                 "set TESSERA_CACHE_DIR to a folder that you may write to");
  }
}

fs::path Cache::entryPath(const Sha256Digest &key) const {
  return root / (toHex(key) + entrySuffix);
}

std::optional<Artifact> Cache::load(const Sha256Digest &key) {
  if (!isUsable)
    return std::nullopt;
  const fs::path path = entryPath(key);
  std::string reason;
  std::optional<Artifact> artifact = readEntry(path, key, reason);
  if (artifact)
    touchFile(path);
  else if (!reason.empty())
    quarantine(path, reason, "; compiling the kernel again");
  return artifact;
}

void Cache::quarantine(const fs::path &path, const std::string &reason,
                       const char *consequence) {
  ++bad;
  std::error_code error;
  const fs::path folder = root / "quarantine";
  std::string done = "moved to " + folder.string();
  fs::create_directory(folder, error);
  // quarantine/ keeps one file per key: a later bad entry replaces an earlier
  // one.
  fs::rename(path, folder / path.filename(), error);
  if (error) {
    fs::remove(path, error);
    done = error ? "cannot be removed: " + error.message() : "removed";
  }
  logWarning("bad cache entry " + path.string() + " (" + reason + "): " + done +
             consequence);
}

bool Cache::store(const Sha256Digest &key, const Artifact &artifact) {
  if (!isUsable)
    return false;
  try {
    const std::string bytes = encodeArtifact(artifact, key);
    if (maxBytes && bytes.size() > maxBytes) {
      warnOnce("cache limit " + root.string(),
               "a compiled kernel of " + bytesText(bytes.size()) +
                   " is not cached on disk: the limit of the cache is " +
                   bytesText(maxBytes) +
                   "; set TESSERA_CACHE_SIZE to a larger size");
      return false;
    }
    writeFile(entryPath(key), bytes);
    // Evict after storing: the last process to store then sees the entries of
    // all others.
    makeRoom(entryPath(key));
    return true;
  } catch (const Error &error) {
    warnOnce("cache store " + root.string(),
             "cannot write a compiled kernel to " + root.string() + ": " +
                 error.message + "; " + error.hint);
    return false;
  }
}

void Cache::makeRoom(const fs::path &keep) {
  if (!maxBytes)
    return;
  // One process evicts at a time. Two processes that count the same files would
  // remove twice as many as needed. A process that is stopped while it evicts
  // must not stop the others: the next one to store makes room.
  auto alone = FileLock::acquireWithin(evictionWait, evictionLock(root));
  if (!alone)
    return;
  CacheScan scan = scanCache(root);
  uint64_t total = 0;
  for (const auto *files : {&scan.entries, &scan.quarantine})
    for (const CacheFile &file : *files)
      total += file.bytes;
  if (total <= maxBytes)
    return;
  // Evicts down to 90% of the limit, so that eviction is rare.
  const uint64_t goal = maxBytes - maxBytes / 10;
  const timespec now = cacheClock();
  for (auto *files : {&scan.quarantine, &scan.entries}) {
    sortByUse(*files, now);
    for (const CacheFile &file : *files) {
      if (total <= goal)
        return;
      if (file.path != keep && removeUnchanged(file))
        total -= file.bytes;
    }
  }
}

FileLock Cache::lock(const Sha256Digest &key) {
  if (!isUsable)
    return {};
  return FileLock::acquire(root / "locks" / toHex(key));
}

} // namespace tessera::runtime
