// tools/check/Child.cpp - launches in a process that a kernel may break.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/check/Child.h"

#include "support/Error.h"
#include "support/File.h"
#include "support/Process.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tessera::tools {
namespace {

// Shared by both processes: what the child runs, ended by a 0.
constexpr size_t noteBytes = 4096;
char *note = nullptr;

ExitStatus waitFor(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      throw Error("cannot wait for a process: " + errnoText(errno));
  ExitStatus how;
  how.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  how.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  return how;
}

} // namespace

void nowRunning(const std::string &what) {
  if (!note)
    return;
  const size_t length = std::min(what.size(), noteBytes - 1);
  std::memcpy(note, what.data(), length);
  note[length] = 0;
}

std::optional<int> continueInChild() {
  void *const shared = ::mmap(nullptr, noteBytes, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  note = shared == MAP_FAILED ? nullptr : static_cast<char *>(shared);
  std::fflush(nullptr);
  const pid_t parent = ::getpid(), child = ::fork();
  if (child < 0)
    throw Error("cannot start a process: " + errnoText(errno),
                "close other programs");
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent)
      ::_exit(1);
    return std::nullopt;
  }
  const ExitStatus how = waitFor(child);
  if (!how.signal)
    return how.code;
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT})
    if (how.signal == signal) {
      ::signal(signal, SIG_DFL);
      ::raise(signal);
    }
  const std::string what = note && *note ? note : "the program";
  throw Error(what + " ended with " + how.text(),
              "a kernel that writes outside of its tensors can break the "
              "program that runs it: try --device sim:sm_80, which checks "
              "every access and names its line");
}

} // namespace tessera::tools
