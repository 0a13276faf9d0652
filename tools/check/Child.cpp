// tools/check/Child.cpp - runs launches in a child process, because a kernel
// may corrupt its process.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/check/Child.h"

#include "support/Error.h"
#include "support/Isolated.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <sys/mman.h>

namespace tessera::tools {
namespace {

// Memory shared by both processes: zero-terminated text that names the launch
// in the child.
constexpr size_t noteBytes = 4096;
char *note = nullptr;

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
  const pid_t child = forkChild();
  if (child == 0)
    return std::nullopt;
  const ExitStatus how = waitForChild(child);
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
