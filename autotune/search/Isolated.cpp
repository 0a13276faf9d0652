// autotune/search/Isolated.cpp - work in a process that it may break.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/Isolated.h"

#include "support/Error.h"
#include "support/File.h"
#include "support/Process.h"
#include "support/Sync.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <poll.h>
#include <string_view>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tessera::tune {

using Clock = std::chrono::steady_clock;
using Body = std::function<void(const std::function<void(const Json &)> &)>;

namespace {

void writeLine(int fd, const Json &object) {
  const std::string line =
      object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  std::string_view left = line;
  if (!writeAll(fd, left))
    ::_exit(1); // the parent does not read any more
}

[[noreturn]] void runChild(const Body &body, int pipe) {
  const auto report = [&](const Json &object) { writeLine(pipe, object); };
  try {
    body(report);
    report({{"done", true}});
  } catch (const Error &error) {
    report({{"failed", error.message}});
  } catch (const std::exception &error) {
    report({{"failed", error.what()}});
  }
  std::fflush(nullptr);
  ::_exit(0);
}

class Parent {
public:
  Parent(pid_t child, int pipe, const std::function<void(const Json &)> &event,
         const std::function<double()> &limit,
         const std::atomic<bool> &interrupted)
      : child(child), pipe(pipe), event(event), limit(limit),
        interrupted(interrupted) {}

  Ended wait() {
    Ended ended = listen();
    // Whatever it does by now: nobody waits for it.
    ::kill(child, SIGKILL);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR)
      ;
    if (ended.how == Ended::How::Crashed) {
      ExitStatus how;
      how.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
      how.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
      ended.text = how.text();
    }
    return ended;
  }

private:
  Ended listen() {
    auto begin = Clock::now();
    double seconds = limit();
    std::string bytes;
    while (true) {
      if (interrupted)
        return {Ended::How::Interrupted, "interrupted"};
      const double left =
          seconds - std::chrono::duration<double>(Clock::now() - begin).count();
      if (left <= 0)
        return {Ended::How::Endless,
                "no end after " + std::to_string(int(seconds)) + " s"};
      pollfd wanted{pipe, POLLIN, 0};
      // Short, for a signal that comes just before.
      if (::poll(&wanted, 1, int(std::min(left * 1000 + 1, 100.0))) <= 0)
        continue;
      char buffer[1 << 14];
      const ssize_t got = ::read(pipe, buffer, sizeof(buffer));
      if (got < 0 && errno == EINTR)
        continue;
      if (got <= 0)
        return {Ended::How::Crashed, ""};
      bytes.append(buffer, size_t(got));
      for (size_t end; (end = bytes.find('\n')) != std::string::npos;) {
        const Json object =
            parseJson(std::string_view(bytes).substr(0, end), "a measurement");
        bytes.erase(0, end + 1);
        if (object.contains("done"))
          return {};
        if (object.contains("failed"))
          return {Ended::How::Failed, object["failed"].get<std::string>()};
        event(object);
        begin = Clock::now();
        seconds = limit();
      }
    }
  }

  pid_t child;
  int pipe;
  const std::function<void(const Json &)> &event;
  const std::function<double()> &limit;
  const std::atomic<bool> &interrupted;
};

} // namespace

Ended runIsolated(const Body &body,
                  const std::function<void(const Json &)> &event,
                  const std::function<double()> &limit,
                  const std::atomic<bool> &interrupted) {
  int ends[2];
  if (::pipe(ends) != 0)
    throw Error("cannot make a pipe: " + errnoText(errno),
                "close other programs");
  UniqueFd readEnd(ends[0]), writeEnd(ends[1]);
  std::fflush(nullptr);
  const pid_t parent = ::getpid(), child = ::fork();
  if (child < 0)
    throw Error("cannot start a process: " + errnoText(errno),
                "close other programs");
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // This process decides what an interrupt means.
    ::signal(SIGINT, SIG_IGN);
    ::signal(SIGTERM, SIG_IGN);
    if (::getppid() != parent)
      ::_exit(1);
    readEnd.reset();
    runChild(body, writeEnd.get());
  }
  writeEnd.reset();
  return Parent(child, readEnd.get(), event, limit, interrupted).wait();
}

} // namespace tessera::tune
