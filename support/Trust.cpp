// support/Trust.cpp - checks whether other users could change files that a
// process executes.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/Trust.h"

#include "support/Descriptors.h"
#include "support/Error.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <deque>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tessera {

namespace fs = std::filesystem;

namespace {

constexpr int mostLinks = 40; // the limit of the Linux kernel

// In a user namespace, files of users outside of it have this owner. Their
// folders count as root's, because the kernel hides their owners.
std::optional<uid_t> readOutsideOwner() {
  const auto map = tryReadFile("/proc/self/uid_map");
  const auto owner = tryReadFile("/proc/sys/kernel/overflowuid");
  if (!map || !owner)
    return std::nullopt;
  char *rest = nullptr;
  std::strtoull(map->c_str(), &rest, 10);
  std::strtoull(rest, &rest, 10);
  if (std::strtoull(rest, nullptr, 10) == UINT32_MAX)
    return std::nullopt; // all users are inside
  return uid_t(std::strtoul(owner->c_str(), nullptr, 10));
}

bool isOutsideOwner(uid_t owner) {
  static const std::optional<uid_t> outside = readOutsideOwner();
  return owner == outside;
}

bool contains(const fs::path &folder, const fs::path &path) {
  const auto [end, ignored] =
      std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end();
}

// Passes over a path from the root, one component after another, without
// following links unseen. Each step opens the component relative to the folder
// before it, so that a folder cannot be replaced between check and use.
class PathWalk {
public:
  PathWalk(const TrustedContext &context, LastLink link)
      : context(context), lastLink(link) {}

  // Returns errno, or 0. After 0, `distrust` or the last component is set.
  int run(const fs::path &path) {
    std::error_code error;
    const fs::path full = fs::absolute(path, error);
    if (error)
      return error.value();
    if (const int failed = enterRoot())
      return failed;
    push(full);
    while (!rest.empty() && !distrust)
      if (const int failed = step())
        return failed;
    return 0;
  }

  std::optional<Distrust> distrust;
  // The last component and the folder that contains it.
  UniqueFd folder;
  std::string name;
  struct stat info = {};
  fs::path shown;

private:
  int enterRoot() {
    folder.reset(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!folder || ::fstat(folder.get(), &info) != 0)
      return errno;
    shown = "/";
    checkFolder();
    return 0;
  }

  void push(const fs::path &path) {
    std::deque<std::string> parts;
    for (const fs::path &part : path.relative_path())
      if (!part.empty() && part != ".")
        parts.push_back(part.string());
    rest.insert(rest.begin(), parts.begin(), parts.end());
  }

  int step() {
    name = rest.front();
    rest.pop_front();
    UniqueFd entry(
        ::openat(folder.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!entry || ::fstat(entry.get(), &info) != 0)
      return errno;
    shown = name == ".." ? shown.parent_path() : shown / name;
    if (S_ISLNK(info.st_mode))
      return follow(entry.get());
    if (rest.empty()) {
      checkLast();
      return 0;
    }
    if (!S_ISDIR(info.st_mode))
      return ENOTDIR;
    checkFolder();
    folder = std::move(entry);
    return 0;
  }

  int follow(int link) {
    if (rest.empty() && lastLink == LastLink::Refuse) {
      distrust = {shown.string() + " is a symbolic link",
                  "remove the link: rm " + shown.string()};
      return 0;
    }
    if (++links > mostLinks)
      return ELOOP;
    checkOwner(false);
    char target[PATH_MAX];
    const ssize_t length = ::readlinkat(link, "", target, sizeof(target));
    if (length < 0)
      return errno;
    if (size_t(length) == sizeof(target))
      return ENAMETOOLONG;
    const fs::path to(std::string(target, size_t(length)));
    shown = shown.parent_path();
    if (to.is_absolute() && !distrust)
      if (const int failed = enterRoot())
        return failed;
    push(to);
    return 0;
  }

  bool isAbove() const {
    return !context.above.empty() && contains(shown, context.above);
  }

  void checkOwner(bool outsideToo) {
    const uid_t owner = info.st_uid;
    if (owner == ::geteuid() || owner == 0 || owner == context.owner ||
        (outsideToo && isOutsideOwner(owner)))
      return;
    distrust = {shown.string() + " belongs to another user (uid " +
                    std::to_string(owner) + ")",
                "use a copy that you own, in a folder that only you can "
                "write to"};
  }

  void checkWriters(mode_t writers) {
    if (info.st_gid == context.group || !(context.writers & S_IWGRP))
      writers &= ~context.writers;
    if (writers && !distrust)
      distrust = {shown.string() + " is writable by others",
                  "if you trust its contents, run: chmod go-w " +
                      shown.string()};
  }

  void checkFolder() {
    if (isAbove())
      return;
    checkOwner(true);
    // Entries of a sticky folder are replaced by their owners only.
    if (!(info.st_mode & S_ISVTX))
      checkWriters(info.st_mode & (S_IWGRP | S_IWOTH));
  }

  void checkLast() {
    if (isAbove())
      return;
    checkOwner(false);
    checkWriters(info.st_mode & (S_IWGRP | S_IWOTH));
  }

  const TrustedContext &context;
  const LastLink lastLink;
  std::deque<std::string> rest;
  int links = 0;
};

} // namespace

TrustedContext TrustedContext::of(const fs::path &file) {
  TrustedContext context;
  std::error_code error;
  context.above = fs::canonical(file, error);
  struct stat info;
  if (error || ::stat(context.above.c_str(), &info) != 0)
    return {};
  context.owner = info.st_uid;
  context.writers = info.st_mode & (S_IWGRP | S_IWOTH);
  context.group = info.st_gid;
  return context;
}

std::optional<Distrust> findDistrust(const fs::path &path,
                                     const TrustedContext &context) {
  PathWalk walk(context, LastLink::Follow);
  switch (const int error = walk.run(path)) {
  case 0:
    return walk.distrust;
  case EACCES:
  case ELOOP:
  case ENAMETOOLONG:
  case ENOENT:
  case ENOTDIR:
    return std::nullopt; // opening it fails as well
  default:
    return Distrust{"its folders cannot be checked: " + errnoText(error),
                    hintForOpen(error, "check " + path.string())};
  }
}

void requireTrusted(const fs::path &path, const std::string &what,
                    const TrustedContext &context) {
  if (const auto found = findDistrust(path, context))
    throw Error(what + " is not used: " + found->reason, found->hint);
}

TrustedFile openTrusted(const fs::path &path, LastLink link) {
  const TrustedContext nothing;
  PathWalk walk(nothing, link);
  TrustedFile file;
  file.error = walk.run(path);
  if (file.error)
    return file;
  file.distrust = std::move(walk.distrust);
  if (file.distrust)
    return file;
  // Opening a pipe would wait for its writer.
  if (S_ISREG(walk.info.st_mode))
    file.fd.reset(::openat(walk.folder.get(), walk.name.c_str(),
                           O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  else
    file.distrust = {path.string() + " is not a regular file",
                     "check the path"};
  struct stat info = {};
  if (S_ISREG(walk.info.st_mode) && !file.fd)
    file.error = errno;
  else if (file.fd && (::fstat(file.fd.get(), &info) != 0 ||
                       info.st_ino != walk.info.st_ino ||
                       info.st_dev != walk.info.st_dev)) {
    file.fd.reset();
    file.error = ESTALE; // its owner replaced it meanwhile
  }
  file.bytes = uint64_t(info.st_size);
  return file;
}

} // namespace tessera
