// tests/faults/Fixture.cpp - processes and file systems for the fault tests.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/Fixture.h"

#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <memory>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace tessera::runtime {

std::function<std::string()>
startChild(const std::function<std::string()> &body) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return [] { return std::string("died: no pipe"); };
  UniqueFd read(ends[0]), write(ends[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    std::string text;
    try {
      text = body();
    } catch (const std::exception &error) {
      text = std::string("died: ") + error.what();
    }
    size_t done = 0;
    while (done < text.size()) {
      const ssize_t put =
          ::write(write.get(), text.data() + done, text.size() - done);
      if (put <= 0)
        break;
      done += size_t(put);
    }
    ::_exit(0);
  }
  write.reset();
  return [child, from = std::make_shared<UniqueFd>(std::move(read))] {
    std::string text;
    char buffer[4096];
    for (ssize_t got; (got = ::read(from->get(), buffer, sizeof(buffer))) > 0;)
      text.append(buffer, size_t(got));
    int raw = 0;
    ::waitpid(child, &raw, 0);
    if (WIFSIGNALED(raw))
      return "died: signal " + std::to_string(WTERMSIG(raw));
    return text;
  };
}

std::string inChild(const std::function<std::string()> &body) {
  return startChild(body)();
}

std::string mountPrivate(const std::filesystem::path &folder, size_t bytes,
                         unsigned long flags) {
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  if (::unshare(user ? CLONE_NEWUSER | CLONE_NEWNS : CLONE_NEWNS) != 0)
    return "no mount namespace (" + errnoText(errno) + ")";
  if (user) {
    std::FILE *file = std::fopen("/proc/self/setgroups", "w");
    if (file) {
      std::fputs("deny", file);
      std::fclose(file);
    }
    for (auto [path, id] : {std::pair<const char *, unsigned>(
                                "/proc/self/uid_map", unsigned(user)),
                            {"/proc/self/gid_map", unsigned(group)}})
      if ((file = std::fopen(path, "w"))) {
        std::fprintf(file, "%u %u 1", id, id);
        std::fclose(file);
      }
  }
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  const std::string options = "mode=0700,size=" + std::to_string(bytes);
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("tmpfs", folder.c_str(), "tmpfs", flags, options.c_str()) != 0)
    return "cannot mount a tmpfs (" + errnoText(errno) + ")";
  return "";
}

bool alive(pid_t pid) {
  auto stat = tryReadFile("/proc/" + std::to_string(pid) + "/stat");
  return stat && stat->find(") Z") == std::string::npos;
}

bool eventually(const std::function<bool()> &condition) {
  for (int i = 0; i < 500; ++i) {
    if (condition())
      return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

} // namespace tessera::runtime
