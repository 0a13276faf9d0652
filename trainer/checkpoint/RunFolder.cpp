// trainer/checkpoint/RunFolder.cpp - claims a run folder with an advisory lock.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/checkpoint/RunFolder.h"

#include "support/Error.h"
#include "support/File.h"
#include "support/Sync.h"
#include "trainer/checkpoint/CheckpointFolder.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace tessera::trainer {
namespace {

/// True if runs write an entry of this name into their folder.
bool writtenByRuns(const std::string &name) {
  // The second form is a temporary file of writeFile() in a killed run.
  for (const std::string known :
       {"lock", "config.json", "metrics.jsonl", "metrics.json", "ckpt",
        "kernels", ".HALT", ".anomaly_type", "env.json", "tb", "trace.json"})
    if (name == known || name.starts_with("." + known + "."))
      return true;
  return name.starts_with("previous-") || name.starts_with("metrics-") ||
         name.starts_with("heartbeat_rank");
}

std::vector<fs::path> foreignFiles(const fs::path &folder) {
  std::vector<fs::path> found;
  for (const fs::directory_entry &e : fs::directory_iterator(folder))
    if (!writtenByRuns(e.path().filename().string()))
      found.push_back(e.path());
  std::sort(found.begin(), found.end());
  return found;
}

[[noreturn]] void refuse(const fs::path &folder,
                         const std::vector<fs::path> &files) {
  throw Error(
      fmt::format("the run folder {} holds what no run wrote: {}{}",
                  folder.string(), files.front().filename().string(),
                  files.size() > 1
                      ? fmt::format(" and {} more", files.size() - 1)
                      : ""),
      "choose a new or an empty folder with out=FOLDER, or move these files "
      "elsewhere; nothing has been changed");
}

/// True for a folder with files, but with neither a run's lock nor a
/// checkpoint.
bool isForeign(const fs::path &folder) {
  std::error_code code;
  if (!fs::is_directory(folder, code) || fs::is_empty(folder, code) || code ||
      !listCheckpoints(folder).empty())
    return false;
  // A run's lock contains a process id, or is still empty.
  const auto lock = tryReadFile(folder / "lock");
  return !lock || lock->find_first_not_of("0123456789") != std::string::npos;
}

} // namespace

RunFolder::RunFolder(const std::string &path) : path(path) {
  std::error_code code;
  if (isForeign(path)) {
    std::vector<fs::path> files = foreignFiles(path);
    if (files.empty()) // all names are also used by runs
      files.push_back(fs::directory_iterator(path)->path());
    refuse(path, files);
  }
  fs::create_directories(path, code);
  const std::string name = file("lock");
  if (!code)
    lock = open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock < 0)
    throw Error(fmt::format("cannot write to the run folder {}: {}", path,
                            code ? code.message() : std::strerror(errno)),
                "make it writable, or choose another with out=FOLDER");
  if (flock(lock, LOCK_EX | LOCK_NB) != 0) {
    char holder[32] = {};
    const ssize_t n = pread(lock, holder, sizeof holder - 1, 0);
    close(lock);
    throw Error(fmt::format("another run is using {}{}", path,
                            n > 0 ? fmt::format(" (process {})",
                                                std::string(holder, size_t(n)))
                                  : ""),
                "wait for it or stop it, or choose another folder with "
                "out=FOLDER");
  }
  const std::string self = std::to_string(getpid());
  if (ftruncate(lock, 0) != 0 ||
      pwrite(lock, self.data(), self.size(), 0) != ssize_t(self.size())) {
    const int reason = errno;
    close(lock);
    throw Error(
        fmt::format("cannot write to {}: {}", name, std::strerror(reason)),
        "free some space, or choose another folder with out=FOLDER");
  }
}

RunFolder::~RunFolder() {
  // The lock file is not removed. Otherwise a third run could lock a new file
  // while a second run waits for this one.
  if (lock >= 0)
    close(lock);
}

bool RunFolder::finished() const { return fs::exists(file("metrics.json")); }

void RunFolder::reopen(int64_t steps) {
  fs::rename(file("metrics.json"), file(fmt::format("metrics-{}.json", steps)));
  syncFolder(path);
}

void RunFolder::refuseForeignFiles() const {
  const std::vector<fs::path> foreign = foreignFiles(path);
  if (!foreign.empty())
    refuse(path, foreign);
}

std::string RunFolder::putAside() {
  refuseForeignFiles();
  std::vector<fs::path> old;
  for (const fs::directory_entry &e : fs::directory_iterator(path)) {
    const std::string name = e.path().filename().string();
    if (name != "lock" && !name.starts_with("previous-"))
      old.push_back(e.path());
  }
  // A run that ended before its first step leaves only settings, copies of
  // kernels and an empty log, which are not worth a previous-N.
  const auto worthless = [](const fs::path &p) {
    std::error_code ignored;
    return p.filename() == "config.json" || p.filename() == "env.json" ||
           p.filename() == "kernels" ||
           p.filename().string().starts_with(".") ||
           p.filename().string().starts_with("heartbeat_rank") ||
           (p.filename() == "metrics.jsonl" &&
            fs::is_regular_file(p, ignored) && fs::file_size(p, ignored) == 0);
  };
  if (std::all_of(old.begin(), old.end(), worthless)) {
    for (const fs::path &p : old)
      fs::remove_all(p);
    return {};
  }
  int number = 1;
  while (fs::exists(file(fmt::format("previous-{}", number))))
    ++number;
  const fs::path aside = file(fmt::format("previous-{}", number));
  fs::create_directory(aside);
  for (const fs::path &p : old)
    fs::rename(p, aside / p.filename());
  syncFolder(aside);
  syncFolder(path);
  return aside.string();
}

} // namespace tessera::trainer
