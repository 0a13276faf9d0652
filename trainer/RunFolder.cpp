// trainer/RunFolder.cpp - claiming a run folder with an advisory lock.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/RunFolder.h"

#include "support/Error.h"

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

RunFolder::RunFolder(const std::string &path) : path(path) {
  std::error_code code;
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
  // The file stays: removing it would let a third run lock a new one while a
  // second still waits on this.
  if (lock >= 0)
    close(lock);
}

bool RunFolder::finished() const { return fs::exists(file("metrics.json")); }

std::string RunFolder::putAside() {
  std::vector<fs::path> old;
  for (const fs::directory_entry &e : fs::directory_iterator(path)) {
    const std::string name = e.path().filename().string();
    if (name != "lock" && !name.starts_with("previous-"))
      old.push_back(e.path());
  }
  // A run that ended before its first step leaves its settings and an empty
  // log: nothing that anybody would look for in a previous-N.
  const auto worthless = [](const fs::path &p) {
    std::error_code ignored;
    return p.filename() == "config.json" ||
           (p.filename() == "metrics.jsonl" &&
            fs::is_regular_file(p, ignored) && fs::file_size(p, ignored) == 0);
  };
  if (std::all_of(old.begin(), old.end(), worthless)) {
    for (const fs::path &p : old)
      fs::remove(p);
    return {};
  }
  int number = 1;
  while (fs::exists(file(fmt::format("previous-{}", number))))
    ++number;
  const fs::path aside = file(fmt::format("previous-{}", number));
  fs::create_directory(aside);
  for (const fs::path &p : old)
    fs::rename(p, aside / p.filename());
  return aside.string();
}

} // namespace tessera::trainer
