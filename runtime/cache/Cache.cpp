// runtime/cache/Cache.cpp - compiled kernels on disk, one file per artifact.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/Cache.h"

#include "support/Log.h"
#include "support/Options.h"

#include <algorithm>
#include <cstdlib>
#include <unistd.h>

namespace tessera::runtime {

namespace fs = std::filesystem;

static constexpr const char *suffix = ".tk";

fs::path defaultCacheFolder() {
  if (std::string folder = optionText(Option::CacheDir); !folder.empty())
    return folder;
  if (const char *folder = std::getenv("XDG_CACHE_HOME"); folder && *folder)
    return fs::path(folder) / "tessera";
  if (const char *home = std::getenv("HOME"); home && *home)
    return fs::path(home) / ".cache" / "tessera";
  return {};
}

static void warnUnusable(const fs::path &folder, const std::string &reason,
                         const std::string &hint) {
  warnOnce("cache " + folder.string(),
           "compiled kernels are not kept: " + reason + "; " + hint);
}

Cache::Cache(fs::path folder) : root(std::move(folder)) {
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
  return root / (toHex(key) + suffix);
}

std::optional<Artifact> Cache::load(const Sha256Digest &key) {
  if (!isUsable)
    return std::nullopt;
  const fs::path path = entryPath(key);
  auto bytes = tryReadFile(path);
  if (!bytes)
    return std::nullopt;
  std::string reason;
  auto artifact = decodeArtifact(*bytes, key, reason);
  if (!artifact)
    quarantine(path, reason);
  return artifact;
}

void Cache::quarantine(const fs::path &path, const std::string &reason) {
  ++bad;
  std::error_code error;
  const fs::path folder = root / "quarantine";
  fs::create_directory(folder, error);
  // A second bad entry of the same key replaces the first.
  fs::rename(path, folder / path.filename(), error);
  if (error)
    fs::remove(path, error);
  logWarning("bad cache entry " + path.string() + " (" + reason +
             ") set aside; the kernel is compiled again");
}

void Cache::store(const Sha256Digest &key, const Artifact &artifact) {
  if (!isUsable)
    return;
  try {
    writeFile(entryPath(key), encodeArtifact(artifact, key));
  } catch (const Error &error) {
    warnOnce("cache store " + root.string(),
             "a compiled kernel could not be kept: " + error.message + "; " +
                 error.hint);
  }
}

FileLock Cache::lock(const Sha256Digest &key) {
  if (!isUsable)
    return {};
  return FileLock::acquire(root / "locks" / toHex(key));
}

// The key that a file's name stands for.
static std::optional<Sha256Digest> keyOfName(const std::string &name) {
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

std::vector<CacheEntry> Cache::list() const {
  std::vector<CacheEntry> entries;
  std::error_code error;
  for (const fs::directory_entry &file : fs::directory_iterator(root, error)) {
    if (file.path().extension() != suffix)
      continue;
    auto bytes = tryReadFile(file.path());
    if (!bytes)
      continue;
    CacheEntry entry;
    entry.name = file.path().filename().string();
    entry.bytes = bytes->size();
    std::string reason;
    auto key = keyOfName(file.path().stem().string());
    if (auto artifact =
            key ? decodeArtifact(*bytes, *key, reason) : std::nullopt) {
      auto text = [&](const char *name) {
        auto found = artifact->meta.find(name);
        return found != artifact->meta.end() && found->is_string()
                   ? found->get<std::string>()
                   : std::string();
      };
      entry.kernel = text("kernel");
      entry.target = text("target");
    } else {
      entry.bad = true;
    }
    entries.push_back(std::move(entry));
  }
  std::sort(entries.begin(), entries.end(),
            [](const CacheEntry &a, const CacheEntry &b) {
              return std::tie(a.kernel, a.name) < std::tie(b.kernel, b.name);
            });
  return entries;
}

size_t Cache::clear() {
  size_t removed = 0;
  std::error_code error;
  std::vector<fs::path> files;
  for (const fs::directory_entry &file : fs::directory_iterator(root, error)) {
    const std::string name = file.path().filename().string();
    if (file.path().extension() == suffix ||
        (name.size() > 4 && name[0] == '.' &&
         file.path().extension() == ".tmp"))
      files.push_back(file.path());
  }
  for (const fs::path &file : files)
    if (fs::remove(file, error) && file.extension() == suffix)
      ++removed;
  fs::remove_all(root / "quarantine", error);
  // Lock files stay: one that is removed while held no longer excludes.
  return removed;
}

} // namespace tessera::runtime
