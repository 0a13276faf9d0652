// tests/train/CrashAt.cpp - a library to preload: it writes down what a program
// does to the disk, and kills it in the middle.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// An operation is a write to a file below ckpt/, a sync of such a file, of a
// folder or of the run folder, or a rename. Those of a save count from 1; it
// begins with its first byte, and operations after its last belong to it until
// the next begins.
//
//   CRASH_TRACE=FILE  gets a line per operation: "SAVE NUMBER write PATH"
//   CRASH_SAVE=S      which save of the process, from 1
//   CRASH_AT=N        SIGKILL instead of its N-th operation; of a write the
//                     first half is done
//   CRASH_SIGNAL=N    that signal instead of SIGKILL; the operation continues
//   CRASH_WAIT=R      no signal: the operation waits until R lines of
//                     metrics.jsonl are written, a minute at most, and the
//                     trace gets "waited" or "overdue" for it
//   CRASH_RECORD=R    SIGKILL after the R-th write to metrics.jsonl ...
//   CRASH_DELAY=U     ... and U microseconds, whatever happens then
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <string>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace {

std::atomic<int> save{0}, operation{0}, records{0};
std::atomic<bool> saving{false};

int setting(const char *name) {
  const char *text = std::getenv(name);
  return text ? std::atoi(text) : 0;
}

std::string pathOf(int fd) {
  char link[64], path[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = ::readlink(link, path, sizeof path);
  return std::string(path, length > 0 ? size_t(length) : 0);
}

bool isCheckpoint(const std::string &path) {
  return path.find("/ckpt/step_") != std::string::npos ||
         path.ends_with("/ckpt") ||
         ::access((path + "/ckpt").c_str(), F_OK) == 0; // the run folder
}

[[noreturn]] void die() {
  ::kill(::getpid(), SIGKILL);
  for (;;)
    ::pause();
}

void trace(const char *what, const std::string &path) {
  const char *file = std::getenv("CRASH_TRACE");
  if (!file)
    return;
  static const int fd =
      ::open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const std::string line = std::to_string(save) + " " +
                           std::to_string(operation) + " " + what + " " + path +
                           "\n";
  if (::syscall(SYS_write, fd, line.data(), line.size()) < 0)
    std::perror(file);
}

void waitForRecords(int wanted, const std::string &path) {
  for (int i = 0; i < 6000 && records < wanted; ++i)
    ::usleep(10000);
  trace(records < wanted ? "overdue" : "waited", path);
}

/// Counts an operation; whether it is the one to die in.
bool counted(const char *what, const std::string &path) {
  ++operation;
  trace(what, path);
  if (setting("CRASH_SAVE") != save || setting("CRASH_AT") != operation)
    return false;
  const int wanted = setting("CRASH_WAIT"), signal = setting("CRASH_SIGNAL");
  if (wanted)
    waitForRecords(wanted, path);
  else if (signal)
    ::kill(::getpid(), signal);
  return !wanted && !signal;
}

template <typename F>
F *next(const char *name) {
  return reinterpret_cast<F *>(::dlsym(RTLD_NEXT, name));
}

} // namespace

extern "C" {

__attribute__((visibility("default"))) ssize_t write(int fd, const void *bytes,
                                                     size_t size) {
  const std::string path = pathOf(fd);
  if (path.find("/ckpt/step_") != std::string::npos) {
    if (!saving.exchange(true)) {
      ++save;
      operation = 0;
    }
    if (counted("write", path)) {
      ::syscall(SYS_write, fd, bytes, size / 2);
      die();
    }
  }
  const ssize_t result = ::syscall(SYS_write, fd, bytes, size);
  if (path.ends_with("/metrics.jsonl") && ++records == setting("CRASH_RECORD"))
    std::thread([] {
      ::usleep(useconds_t(setting("CRASH_DELAY")));
      die();
    }).detach();
  return result;
}

__attribute__((visibility("default"))) int fsync(int fd) {
  static const auto real = next<int(int)>("fsync");
  const std::string path = pathOf(fd);
  if (isCheckpoint(path) && counted("fsync", path))
    die();
  return real(fd);
}

__attribute__((visibility("default"))) int rename(const char *from,
                                                  const char *to) noexcept {
  static const auto real = next<int(const char *, const char *)>("rename");
  if (isCheckpoint(to)) {
    if (counted("rename", to))
      die();
    // The checkpoint has its name.
    if (std::string(from) == std::string(to) + ".tmp")
      saving = false;
  }
  return real(from, to);
}

} // extern "C"
