// support/Process.cpp - child processes in their own group, with time-outs.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/Process.h"

#include "support/Descriptors.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/ScratchFolder.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <mutex>
#include <poll.h>
#include <set>
#include <spawn.h>
#include <string_view>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace tessera {

using Clock = std::chrono::steady_clock;

std::string ExitStatus::text() const {
  if (signal)
    return "signal " + std::to_string(signal) + " (" + ::strsignal(signal) +
           ")";
  return "exit status " + std::to_string(code);
}

// Returns this process's environment with the additions; later additions
// replace earlier ones.
static std::vector<std::string>
joinEnvironment(const std::vector<std::string> &additions) {
  std::vector<std::string> result;
  auto nameOf = [](std::string_view text) {
    return text.substr(0, text.find('='));
  };
  for (char **entry = environ; entry && *entry; ++entry) {
    bool replaced = false;
    for (const std::string &addition : additions)
      replaced |= nameOf(addition) == nameOf(*entry);
    if (!replaced)
      result.push_back(*entry);
  }
  result.insert(result.end(), additions.begin(), additions.end());
  return result;
}

static std::vector<char *> pointers(std::vector<std::string> &texts) {
  std::vector<char *> result;
  for (std::string &text : texts)
    result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

namespace {

// Process groups that this process started and that have not ended.
struct LiveGroups {
  std::mutex mutex;
  std::set<pid_t> groups;

  void add(pid_t group) {
    std::lock_guard<std::mutex> guard(mutex);
    groups.insert(group);
  }
  void remove(pid_t group) {
    std::lock_guard<std::mutex> guard(mutex);
    groups.erase(group);
  }
  void killAll() {
    std::lock_guard<std::mutex> guard(mutex);
    for (pid_t group : groups)
      ::kill(-group, SIGKILL);
  }
};

// Never destroyed: a thread may read it while the process exits.
LiveGroups &liveGroups() {
  static LiveGroups *const live = new LiveGroups;
  return *live;
}

} // namespace

Process Process::spawn(const SpawnOptions &options) {
  if (options.arguments.empty())
    throw Error("no program to start", "name the program to run");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);

  // Moves the sources above all target numbers, so that a dup2 in the child
  // does not overwrite a later source. Copies only descriptors that need it,
  // because few may be free.
  int highest = 2;
  for (auto [wanted, ours] : options.descriptors)
    highest = std::max(highest, wanted);
  std::vector<UniqueFd> copies;
  int error = 0;
  for (auto [wanted, ours] : options.descriptors) {
    int source = ours;
    if (ours <= highest) {
      copies.emplace_back(::fcntl(ours, F_DUPFD_CLOEXEC, highest + 1));
      if (!copies.back()) {
        error =
            errno == EINVAL ? EMFILE : errno; // the limit is below `highest`
        break;
      }
      source = copies.back().get();
    }
    posix_spawn_file_actions_adddup2(&actions, source, wanted);
  }
  if (!options.folder.empty())
    posix_spawn_file_actions_addchdir_np(&actions, options.folder.c_str());
  if (options.quiet)
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);

  // Resets the signal mask and handlers to the defaults of a new program.
  sigset_t none, standard;
  sigemptyset(&none);
  sigemptyset(&standard);
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT, SIGCHLD})
    sigaddset(&standard, signal);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &standard);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP |
                                            POSIX_SPAWN_SETSIGMASK |
                                            POSIX_SPAWN_SETSIGDEF);

  std::vector<std::string> arguments = options.arguments;
  std::vector<std::string> environment = joinEnvironment(options.environment);
  Process process;
  if (!error)
    error = ::posix_spawn(&process.child, arguments[0].c_str(), &actions,
                          &attributes, pointers(arguments).data(),
                          pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error) {
    process.child = -1;
    throw Error(
        "cannot start " + arguments[0] + ": " + errnoText(error),
        hintForOpen(error, "check that the file exists and is executable"));
  }
  process.owner = ::getpid();
  liveGroups().add(process.child);
  if (options.cpuLimit.count() > 0) {
    const rlimit limit = {rlim_t(options.cpuLimit.count()),
                          rlim_t(options.cpuLimit.count()) + 1};
    ::prlimit(process.child, RLIMIT_CPU, &limit, nullptr);
  }
  return process;
}

Process::Process(Process &&other) noexcept
    : child(std::exchange(other.child, -1)), owner(other.owner),
      status(other.status) {}

Process &Process::operator=(Process &&other) noexcept {
  std::swap(child, other.child);
  std::swap(owner, other.owner);
  std::swap(status, other.status);
  return *this;
}

Process::~Process() {
  if (child < 0 || status || owner != ::getpid())
    return;
  killGroup();
  wait();
}

static ExitStatus decode(int raw) {
  if (WIFSIGNALED(raw))
    return {0, WTERMSIG(raw)};
  return {WEXITSTATUS(raw), 0};
}

void Process::ended(ExitStatus how) {
  status = how;
  liveGroups().remove(child);
}

std::optional<ExitStatus> Process::wait(std::chrono::milliseconds timeout) {
  const auto end = Clock::now() + timeout;
  auto pause = std::chrono::milliseconds(1);
  while (!status) {
    int raw = 0;
    pid_t got = ::waitpid(child, &raw, WNOHANG);
    if (got == child)
      ended(decode(raw));
    else if (got < 0 && errno != EINTR)
      ended({127, 0}); // another waitpid() reaped it
    else if (Clock::now() >= end)
      return std::nullopt;
    else {
      std::this_thread::sleep_for(pause);
      pause = std::min(pause * 2, std::chrono::milliseconds(20));
    }
  }
  return status;
}

ExitStatus Process::wait() {
  while (!status) {
    int raw = 0;
    pid_t got = ::waitpid(child, &raw, 0);
    if (got == child)
      ended(decode(raw));
    else if (got < 0 && errno != EINTR)
      ended({127, 0});
  }
  return *status;
}

void Process::killGroup() {
  // Only before the child is reaped: afterwards its number may be reused.
  if (child > 0 && !status)
    ::kill(-child, SIGKILL);
}

void exitWhenPeerCloses(int fd) {
  std::thread([fd] {
    while (true) {
      pollfd entry = {fd, POLLRDHUP, 0};
      if (::poll(&entry, 1, -1) < 0 && errno == EINTR)
        continue;
      if (entry.revents & (POLLHUP | POLLRDHUP | POLLERR | POLLNVAL)) {
        liveGroups().killAll();
        if (::getpgrp() == ::getpid())
          ::kill(0, SIGKILL);
        ::_exit(1);
      }
    }
  }).detach();
}

// Shared by runCommand() and runTool(). `options` lacks only descriptors 1 and
// 2 and the limit.
static CommandResult collect(SpawnOptions options,
                             std::chrono::milliseconds timeout) {
  int ends[2][2];
  if (::pipe2(ends[0], O_CLOEXEC) != 0)
    throw Error("cannot make a pipe: " + errnoText(errno),
                hintForOpen(errno, "end some programs"));
  UniqueFd outRead(ends[0][0]), outWrite(ends[0][1]);
  if (::pipe2(ends[1], O_CLOEXEC) != 0)
    throw Error("cannot make a pipe: " + errnoText(errno),
                hintForOpen(errno, "end some programs"));
  UniqueFd errRead(ends[1][0]), errWrite(ends[1][1]);

  options.descriptors.insert(options.descriptors.end(),
                             {{1, outWrite.get()}, {2, errWrite.get()}});
  // The system ends the child in time even if this process has died.
  options.cpuLimit = std::chrono::duration_cast<std::chrono::seconds>(timeout) *
                         std::max(1u, std::thread::hardware_concurrency()) +
                     std::chrono::seconds(1);
  Process process = Process::spawn(options);
  outWrite.reset();
  errWrite.reset();

  CommandResult result;
  const auto end = Clock::now() + timeout;
  pollfd entries[2] = {{outRead.get(), POLLIN, 0}, {errRead.get(), POLLIN, 0}};
  std::string *texts[2] = {&result.output, &result.errors};
  while (entries[0].fd >= 0 || entries[1].fd >= 0) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - Clock::now());
    if (left.count() <= 0) {
      result.timedOut = true;
      process.killGroup();
      break;
    }
    ::poll(entries, 2, int(std::min<int64_t>(left.count(), 1000)));
    for (int i = 0; i < 2; ++i) {
      if (entries[i].fd < 0 || !entries[i].revents)
        continue;
      char buffer[1 << 14];
      ssize_t got = ::read(entries[i].fd, buffer, sizeof(buffer));
      if (got > 0)
        texts[i]->append(buffer, size_t(got));
      else if (got == 0 || errno != EINTR)
        entries[i].fd = -1;
    }
  }
  auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
  auto ended = process.wait(std::max(left, std::chrono::milliseconds(0)));
  if (!ended) {
    result.timedOut = true;
    process.killGroup();
  }
  result.status = process.wait();
  return result;
}

CommandResult runCommand(const std::vector<std::string> &arguments,
                         std::chrono::milliseconds timeout,
                         const std::vector<std::string> &environment,
                         const std::vector<std::pair<int, int>> &descriptors) {
  SpawnOptions options;
  options.arguments = arguments;
  options.environment = environment;
  options.descriptors = descriptors;
  return collect(std::move(options), timeout);
}

CommandResult runTool(const std::vector<std::string> &arguments,
                      std::chrono::milliseconds timeout,
                      const std::vector<std::pair<int, int>> &descriptors) {
  const ScratchFolder empty("tool");
  SpawnOptions options;
  options.arguments = arguments;
  if (!arguments.empty())
    options.arguments[0] = std::filesystem::absolute(arguments[0]).string();
  options.folder = empty.path().string();
  options.descriptors = descriptors;
  return collect(std::move(options), timeout);
}

std::filesystem::path executablePath() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error);
}

std::filesystem::path libraryPath(const void *address) {
  Dl_info info;
  if (!::dladdr(address, &info) || !info.dli_fname)
    return {};
  std::error_code error;
  auto path = std::filesystem::canonical(info.dli_fname, error);
  return error ? std::filesystem::path() : path;
}

} // namespace tessera
