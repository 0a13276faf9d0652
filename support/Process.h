// support/Process.h - child processes in their own group, with time-outs.
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
  // The child's working folder, in which a relative argv[0] is looked for;
  // empty: that of this process.
  std::string folder;
  // Descriptors the child gets: {its number there, ours}. All others of ours
  // but 0, 1, 2 should be close-on-exec.
  std::vector<std::pair<int, int>> descriptors;
  std::vector<std::string> environment; // "NAME=value", added to ours
  bool quiet = false;                   // stdout to /dev/null
  // Processor time after which the system ends the child, also when this
  // process is gone by then; 0: no limit.
  std::chrono::seconds cpuLimit{0};
};

// How a child ended.
struct ExitStatus {
  int code = 0;   // exit status, when no signal ended it
  int signal = 0; // 0 when it exited

  bool ok() const { return code == 0 && signal == 0; }
  std::string text() const; // "exit status 3", "signal 11 (Segmentation fault)"
};

// A running child. Destroying the object kills the child's group and reaps it,
// except in a forked copy of the process that spawned it.
class Process {
public:
  // Throws Error when the program cannot be started.
  static Process spawn(const SpawnOptions &options);

  Process(Process &&other) noexcept;
  Process &operator=(Process &&other) noexcept;
  ~Process();

  pid_t pid() const { return child; }
  // The status, or none when the time is over first.
  std::optional<ExitStatus> wait(std::chrono::milliseconds timeout);
  // Waits as long as it takes.
  ExitStatus wait();
  // SIGKILL to the child and all it started that stayed in its group.
  void killGroup();

private:
  Process() = default;
  void ended(ExitStatus how);

  pid_t child = -1;
  pid_t owner = -1; // who spawned it: a fork of ours must not end it
  std::optional<ExitStatus> status;
};

// For a child: ends this process, its group and the groups of the children it
// runs itself as soon as the other side of the descriptor (pipe or socket) is
// closed, whatever it is doing then. A parent-death signal would also fire when
// only the thread that spawned us ends, so the closing of the connection is
// what says that the parent died.
void exitWhenPeerCloses(int fd);

// Runs a command to its end and collects stdout and stderr; the group is killed
// at the time-out, and by the system should this process be gone by then.
// `descriptors` as in SpawnOptions.
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

// runCommand for a tool that must not see the files of the user's folder: runs
// it in a new empty folder, which is removed afterwards. ptxas, for one, looks
// for the files that `.file` names and writes their sizes and times into the
// code. A relative arguments[0] is looked for in the folder of this process,
// other relative paths are the tool's own. Throws Error where no folder can be
// made.
CommandResult runTool(const std::vector<std::string> &arguments,
                      std::chrono::milliseconds timeout,
                      const std::vector<std::pair<int, int>> &descriptors = {});

// The file that this program was started from.
std::filesystem::path executablePath();
// The library or program whose code lies at the address.
std::filesystem::path libraryPath(const void *address);

} // namespace tessera
