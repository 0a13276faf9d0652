// support/Isolated.cpp - runs work in a child process that the work may crash.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/Isolated.h"

#include "support/Error.h"
#include "support/File.h"
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

namespace tessera {

using Clock = std::chrono::steady_clock;
using Body = std::function<void(const Report &)>;

pid_t forkChild() {
  std::fflush(nullptr);
  const pid_t parent = ::getpid(), child = ::fork();
  if (child < 0)
    throw Error("cannot start a process: " + errnoText(errno),
                "close other programs");
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent)
      ::_exit(1);
  }
  return child;
}

ExitStatus waitForChild(pid_t child) {
  int raw = 0;
  while (::waitpid(child, &raw, 0) < 0)
    if (errno != EINTR)
      throw Error("cannot wait for a process: " + errnoText(errno));
  ExitStatus status;
  status.signal = WIFSIGNALED(raw) ? WTERMSIG(raw) : 0;
  status.code = WIFEXITED(raw) ? WEXITSTATUS(raw) : 0;
  return status;
}

namespace {

void writeLine(int fd, const Json &object) {
  const std::string line =
      object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  std::string_view left = line;
  if (!writeAll(fd, left))
    ::_exit(1); // the parent stopped reading
}

[[noreturn]] void runChild(const Body &body, int pipe) {
  const auto report = [&](const Json &object) { writeLine(pipe, object); };
  try {
    body(report);
    report({{"done", true}});
  } catch (const Error &error) {
    report({{"failed", error.message}, {"hint", error.hint}});
  } catch (const std::exception &error) {
    report({{"failed", error.what()}, {"hint", ""}});
  }
  std::fflush(nullptr);
  ::_exit(0);
}

class Parent {
public:
  Parent(pid_t child, int pipe, const Report &event,
         const std::function<double()> &limit,
         const std::atomic<bool> &interrupted)
      : child(child), pipe(pipe), event(event), limit(limit),
        interrupted(interrupted) {}

  Ended wait() {
    Ended ended;
    try {
      ended = listen();
    } catch (...) { // of `event`
      end();
      throw;
    }
    const ExitStatus status = end();
    if (ended.how == Ended::How::Crashed)
      ended = {ended.how, status.text(), status.signal, ""};
    return ended;
  }

private:
  // Kills the child first, so that waiting for it cannot block.
  ExitStatus end() const {
    ::kill(child, SIGKILL);
    return waitForChild(child);
  }

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
      // A short timeout, because a signal may arrive just before the call.
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
          return {Ended::How::Failed, object["failed"].get<std::string>(), 0,
                  object["hint"].get<std::string>()};
        event(object);
        begin = Clock::now();
        seconds = limit();
      }
    }
  }

  pid_t child;
  int pipe;
  const Report &event;
  const std::function<double()> &limit;
  const std::atomic<bool> &interrupted;
};

} // namespace

Ended runIsolated(const Body &body, const Report &event,
                  const std::function<double()> &limit,
                  const std::atomic<bool> &interrupted) {
  int ends[2];
  if (::pipe(ends) != 0)
    throw Error("cannot make a pipe: " + errnoText(errno),
                "close other programs");
  UniqueFd readEnd(ends[0]), writeEnd(ends[1]);
  const pid_t child = forkChild();
  if (child == 0) {
    // The parent decides what an interrupt means.
    ::signal(SIGINT, SIG_IGN);
    ::signal(SIGTERM, SIG_IGN);
    readEnd.reset();
    runChild(body, writeEnd.get());
  }
  writeEnd.reset();
  return Parent(child, readEnd.get(), event, limit, interrupted).wait();
}

void IsolatedItems::work(size_t first, const Report &report) {
  report({{"opened", open()}});
  for (auto item = std::optional(first); item; item = next(*item + 1)) {
    Json line = {{"item", *item}};
    try {
      line["row"] = run(*item, [&](const Phase &phase) {
        Json now = {{"item", *item}, {"phase", phase.what}};
        if (phase.part)
          now["part"] = *phase.part;
        report(now);
      });
    } catch (const LostProcess &lost) {
      line["part"] = lost.part;
      line["why"] = lost.why;
    } catch (const Error &error) {
      line["why"] = error.message;
      line["hint"] = error.hint;
    } catch (const std::exception &error) {
      line["why"] = error.what();
    }
    report(line);
    if (!usable())
      return;
  }
}

// Returns true if an item was processed or failed.
bool IsolatedItems::runProcess(size_t first,
                               const std::atomic<bool> &interrupted) {
  bool answered = false, settled = false;
  std::optional<size_t> current; // none between items
  Phase phase;
  const auto event = [&](const Json &line) {
    if (line.contains("opened")) {
      opened(line["opened"]);
      answered = true;
      return;
    }
    const size_t item = line.at("item").get<size_t>();
    Phase said{line.value("phase", ""), std::nullopt};
    if (line.contains("part"))
      said.part = line["part"].get<size_t>();
    if (line.contains("phase")) {
      current = item;
      phase = said;
      return;
    }
    current.reset();
    settled = true;
    if (line.contains("row"))
      done(item, line["row"]);
    else
      failed(item, said,
             {Ended::How::Failed, line["why"].get<std::string>(), 0,
              line.value("hint", "")});
  };
  const Ended ended =
      runIsolated([&](const Report &report) { work(first, report); }, event,
                  [&] { return limit(); }, interrupted);
  if (ended.how == Ended::How::Interrupted || ended.how == Ended::How::Done)
    return settled;
  if (ended.how == Ended::How::Failed)
    throw Error(ended.text, ended.hint);
  if (!answered)
    throw Error("the device does not open: " + ended.text,
                "look at a GPU with nvidia-smi");
  if (!current)
    return settled;
  failed(*current, phase, ended);
  return true;
}

void IsolatedItems::runAll(const std::atomic<bool> &interrupted) {
  size_t idle = 0;
  while (const auto first = next(0)) {
    if (interrupted)
      return;
    idle = runProcess(*first, interrupted) ? 0 : idle + 1;
    if (idle == 2)
      throw Error("the device does not answer any more",
                  "look at a GPU with nvidia-smi; what is known is kept");
  }
}

} // namespace tessera
