// support/Process.h - child processes in separate process groups, with
// timeouts.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace tessera {

struct SpawnOptions {
  std::vector<std::string> arguments; // argv, with argv[0] the path to run
  // The child's working folder, to which a relative argv[0] refers; empty: that
  // of this process.
  std::string folder;
  // Descriptors that the child inherits: {number in the child, number here}.
  // All other descriptors but 0, 1, 2 should be close-on-exec.
  std::vector<std::pair<int, int>> descriptors;
  std::vector<std::string> environment; // "NAME=value", added to ours
  bool quiet = false;                   // stdout to /dev/null
  // CPU time after which the system ends the child, even if this process has
  // exited; 0: no limit.
  std::chrono::seconds cpuLimit{0};
};

// How a child ended.
struct ExitStatus {
  int code = 0;   // exit status, unless a signal ended the child
  int signal = 0; // 0 if it exited

  bool ok() const { return code == 0 && signal == 0; }
  std::string text() const; // "exit status 3", "signal 11 (Segmentation fault)"
};

// A running child. Destroying the object kills the child's group and reaps it,
// except in a forked copy of the process that spawned it.
class Process {
public:
  // Starts a program. Throws Error if it cannot be started.
  static Process spawn(const SpawnOptions &options);

  Process(Process &&other) noexcept;
  Process &operator=(Process &&other) noexcept;
  ~Process();

  pid_t pid() const { return child; }
  // Returns the exit status, or nullopt after the timeout.
  std::optional<ExitStatus> wait(std::chrono::milliseconds timeout);
  // Waits without a timeout.
  ExitStatus wait();
  // Sends SIGKILL to the child's process group.
  void killGroup();

private:
  Process() = default;
  void ended(ExitStatus how);

  pid_t child = -1;
  pid_t owner = -1; // the process that spawned it; forks must not end it
  std::optional<ExitStatus> status;
};

// Called in a child. Kills this process, its group and the groups of its
// children as soon as the other side of the descriptor (pipe or socket) is
// closed. The closed connection means that the parent has died. A parent-death
// signal is not suitable, because it also fires if only the thread that spawned
// this process exits.
void exitWhenPeerCloses(int fd);

// Runs a command and collects stdout and stderr. Kills its group at the
// timeout; the system does so if this process has died. `descriptors` as in
// SpawnOptions.
struct CommandResult {
  ExitStatus status;
  bool timedOut = false;
  std::string output; // stdout
  std::string errors; // stderr
};
CommandResult
runCommand(const std::vector<std::string> &arguments,
           std::chrono::milliseconds timeout,
           const std::vector<std::string> &environment = {},
           const std::vector<std::pair<int, int>> &descriptors = {});

// Like runCommand(), in a new empty folder, which is removed afterwards. For
// tools that must not read files of the user's folder: ptxas, for example,
// looks for the files that `.file` names and embeds their sizes and times. A
// relative arguments[0] refers to the folder of this process, other relative
// paths to the new folder. Throws Error if the folder cannot be created.
CommandResult runTool(const std::vector<std::string> &arguments,
                      std::chrono::milliseconds timeout,
                      const std::vector<std::pair<int, int>> &descriptors = {});

// Returns the path of this program's executable.
std::filesystem::path executablePath();
// Returns the path of the library or program that contains the address.
std::filesystem::path libraryPath(const void *address);

} // namespace tessera
