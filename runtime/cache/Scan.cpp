// runtime/cache/Scan.cpp - what files a cache folder holds.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/Scan.h"

#include "support/Descriptors.h"
#include "support/Trust.h"

#include <algorithm>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tessera::runtime {

namespace fs = std::filesystem;

// The size of a kernel is far below this limit.
static constexpr uint64_t maxEntryBytes = 2ull << 30;

std::optional<Artifact> readEntry(const fs::path &path, const Sha256Digest &key,
                                  std::string &reason) {
  // An entry is native code that this process executes. A checksum does not
  // show who wrote it.
  const TrustedFile file = openTrusted(path, LastLink::Refuse);
  if (file.distrust)
    reason = file.distrust->reason;
  else if (file.fd && file.bytes > maxEntryBytes)
    reason = "longer than any kernel";
  if (!file.fd || !reason.empty())
    return std::nullopt;
  std::string bytes;
  if (readToEnd(file.fd.get(), bytes) != 0)
    return std::nullopt;
  return decodeArtifact(bytes, key, reason);
}

static std::vector<CacheFile> filesOf(const fs::path &folder) {
  std::vector<CacheFile> files;
  std::error_code error;
  fs::directory_iterator place(folder, error);
  // increment() with a code: the folder may vanish while it is read.
  for (; !error && place != fs::directory_iterator(); place.increment(error)) {
    struct stat info;
    if (::lstat(place->path().c_str(), &info) == 0 && S_ISREG(info.st_mode))
      files.push_back({place->path(), uint64_t(info.st_size), info.st_mtim});
  }
  return files;
}

CacheScan scanCache(const fs::path &root) {
  CacheScan scan;
  for (CacheFile &file : filesOf(root)) {
    const std::string name = file.path.filename().string();
    if (name.size() > 4 && name[0] == '.' && file.path.extension() == ".tmp")
      scan.temporaries.push_back(std::move(file));
    else if (file.path.extension() == entrySuffix)
      scan.entries.push_back(std::move(file));
  }
  scan.quarantine = filesOf(root / "quarantine");
  scan.locks = filesOf(root / "locks");
  return scan;
}

std::optional<Sha256Digest> keyOfEntry(const fs::path &path) {
  const std::string name = path.stem().string();
  if (name.size() != 64)
    return std::nullopt;
  Sha256Digest key{};
  for (size_t i = 0; i < 64; ++i) {
    char c = name[i];
    int digit = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                       : -1;
    if (digit < 0)
      return std::nullopt;
    key[i / 2] = uint8_t(key[i / 2] << 4 | digit);
  }
  return key;
}

timespec cacheClock() {
  timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  return now;
}

static bool earlier(const timespec &a, const timespec &b) {
  return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

void touchFile(const fs::path &path) {
  const timespec times[2] = {{0, UTIME_OMIT}, {0, UTIME_NOW}};
  ::utimensat(AT_FDCWD, path.c_str(), times, 0);
}

std::chrono::seconds ageOf(const CacheFile &file, const timespec &now) {
  if (!earlier(now, file.used))
    return std::chrono::seconds(now.tv_sec - file.used.tv_sec);
  // Two seconds of tolerance: file systems round, and another process may have
  // used the file since `now`.
  if (file.used.tv_sec > now.tv_sec + 2)
    touchFile(file.path);
  return std::chrono::seconds(0);
}

void sortByUse(std::vector<CacheFile> &files, const timespec &now) {
  for (CacheFile &file : files)
    if (file.used.tv_sec > now.tv_sec + 2) {
      touchFile(file.path);
      struct stat info;
      file.used = ::lstat(file.path.c_str(), &info) == 0 ? info.st_mtim : now;
    }
  std::sort(files.begin(), files.end(),
            [](const CacheFile &a, const CacheFile &b) {
              if (earlier(a.used, b.used) || earlier(b.used, a.used))
                return earlier(a.used, b.used);
              return a.path < b.path;
            });
}

bool removeUnchanged(const CacheFile &file) {
  struct stat info;
  if (::lstat(file.path.c_str(), &info) != 0)
    return false;
  if (earlier(info.st_mtim, file.used) || earlier(file.used, info.st_mtim))
    return false;
  return ::unlink(file.path.c_str()) == 0;
}

} // namespace tessera::runtime
