// trainer/parallel/Launcher.cpp - starts child processes, forwards signals to
// them and their log lines to standard error, and waits for them.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/parallel/Launcher.h"

#include "support/Descriptors.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/Process.h"
#include "support/ScratchFolder.h"
#include "support/Sync.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <poll.h>
#include <unistd.h>

namespace tessera::trainer {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

/// Time that the other processes have to notice and report that one has failed.
constexpr auto patience = 20s;
/// The children's end of a pipe; it reports a hang-up when the launcher dies.
constexpr int lifeline = 3;
constexpr const char *lifelineVariable = "TESSERA_LIFELINE";

constexpr int forwarded[] = {SIGINT, SIGTERM, SIGUSR1, SIGHUP};
/// For each signal number: signals received but not forwarded yet.
std::atomic<int> pending[65];
static_assert(std::atomic<int>::is_always_lock_free);

extern "C" {
static void noteSignal(int number) { pending[number] += 1; }
}

/// Counts signals in `pending` during its lifetime, then restores the handlers.
class Signals {
public:
  Signals() {
    struct sigaction action = {};
    action.sa_handler = noteSignal;
    for (size_t i = 0; i < std::size(forwarded); ++i)
      sigaction(forwarded[i], &action, &before[i]);
    action.sa_handler = SIG_IGN; // the reader of the log may have exited
    sigaction(SIGPIPE, &action, &pipe);
  }
  ~Signals() {
    for (size_t i = 0; i < std::size(forwarded); ++i)
      sigaction(forwarded[i], &before[i], nullptr);
    sigaction(SIGPIPE, &pipe, nullptr);
  }
  Signals(const Signals &) = delete;
  Signals &operator=(const Signals &) = delete;

private:
  struct sigaction before[std::size(forwarded)], pipe;
};

struct Pipe {
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      throw Error("cannot make a pipe: " + errnoText(errno),
                  hintForOpen(errno, "end some programs"));
    read.reset(ends[0]);
    write.reset(ends[1]);
  }
  UniqueFd read, write;
};

/// A process of the run, and what it has written but not ended with a newline.
struct Child {
  Child(int64_t rank, int64_t size, const std::vector<std::string> &arguments,
        const fs::path &meeting, int life)
      : rank(rank), process(start(size, arguments, meeting, life)) {
    log.write.reset();
    ::fcntl(log.read.get(), F_SETFL, O_NONBLOCK);
  }

  Process start(int64_t size, const std::vector<std::string> &arguments,
                const fs::path &meeting, int life) {
    SpawnOptions options;
    options.arguments = {executablePath().string()};
    options.arguments.insert(options.arguments.end(), arguments.begin(),
                             arguments.end());
    options.descriptors = {{STDERR_FILENO, log.write.get()}, {lifeline, life}};
    options.environment = {
        fmt::format("RANK={}", rank), fmt::format("LOCAL_RANK={}", rank),
        fmt::format("WORLD_SIZE={}", size),
        fmt::format("TESSERA_RENDEZVOUS={}", meeting.string()),
        fmt::format("{}={}", lifelineVariable, lifeline)};
    return Process::spawn(options);
  }

  /// Forwards complete lines; after the process has ended, also a partial one.
  void readLines() {
    char buffer[1 << 14];
    for (ssize_t n; (n = ::read(log.read.get(), buffer, sizeof buffer)) > 0;)
      text.append(buffer, size_t(n));
    if (ended && !text.empty() && text.back() != '\n')
      text += '\n';
    std::string lines;
    for (size_t end; (end = text.find('\n')) != std::string::npos;
         text.erase(0, end + 1))
      lines += fmt::format("[rank {}] {}\n", rank, text.substr(0, end));
    for (std::string_view left = lines; !left.empty();)
      if (!writeAll(STDERR_FILENO, left))
        break; // the run continues without a reader of its log
  }

  int64_t rank;
  Pipe log;
  Process process;
  std::string text;
  std::optional<ExitStatus> ended;
};

void passSignalsOn(std::vector<Child> &children) {
  for (const int signal : forwarded)
    for (int times = pending[signal].exchange(0); times > 0; --times)
      for (const Child &child : children)
        if (!child.ended)
          ::kill(child.process.pid(), signal);
}

/// Waits until all children have ended. Returns the first that failed, or null.
Child *watch(std::vector<Child> &children) {
  Child *failed = nullptr;
  Clock::time_point deadline = Clock::time_point::max();
  while (true) {
    std::vector<pollfd> entries;
    for (const Child &child : children)
      if (!child.ended)
        entries.push_back({child.log.read.get(), POLLIN, 0});
    if (entries.empty())
      return failed;
    ::poll(entries.data(), entries.size(), 50);
    passSignalsOn(children);
    for (Child &child : children) {
      if (child.ended)
        continue;
      child.ended = child.process.wait(0ms);
      child.readLines();
      if (child.ended && !child.ended->ok() && !failed) {
        failed = &child;
        deadline = Clock::now() + patience;
      }
      if (Clock::now() >= deadline)
        child.process.killGroup();
    }
  }
}

} // namespace

int launch(int64_t processes, const std::vector<std::string> &arguments) {
  const Signals signals;
  const ScratchFolder folder("meeting");
  Pipe life;
  std::vector<Child> children;
  children.reserve(size_t(processes));
  for (int64_t rank = 0; rank < processes; ++rank)
    children.emplace_back(rank, processes, arguments, folder.path() / "meet",
                          life.read.get());
  life.read.reset();
  const Child *failed = watch(children);
  if (!failed)
    return 0;
  const ExitStatus &status = *failed->ended;
  // A signal stopped the run, which has saved a checkpoint and reported that.
  if (status.code == 128 + SIGINT || status.code == 128 + SIGTERM)
    return status.code;
  throw Error(
      fmt::format("process {} of {} ended with {}", failed->rank, processes,
                  status.text()),
      "its lines above say why, if it could; the same command continues "
      "from the newest checkpoint, with any --nproc");
}

void endWithLauncher() {
  const char *descriptor = std::getenv(lifelineVariable);
  if (!descriptor)
    return;
  // Programs that this process starts must not inherit the pipe.
  const int fd = std::atoi(descriptor);
  ::unsetenv(lifelineVariable);
  if (::fcntl(fd, F_SETFD, FD_CLOEXEC) == 0)
    exitWhenPeerCloses(fd);
}

} // namespace tessera::trainer
