// replay/Replay.cpp - runs many cases, each launch in a separate process.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "replay/Replay.h"

#include "support/Error.h"
#include "support/File.h"
#include "support/LanguageGaps.h"
#include "support/Process.h"
#include "support/Progress.h"
#include "support/Sync.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <optional>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tessera::cases {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

namespace {

struct Job {
  CaseReport report;
  std::optional<LoadedCase> loaded;
  std::optional<PreparedLaunch> launch;
};

std::string describe(const Error &error) {
  return error.hint.empty() ? error.message
                            : error.message + "\nHINT: " + error.hint;
}

// Whether a message names a word, method, keyword or statement that the
// language or a target does not have: the recorded kernel compiled elsewhere,
// so this is not a wrong result.
bool namesMissingWord(const std::string &message) {
  if (namesLanguageGap(message))
    return true;
  for (const char *sign : {"does not exist in kernels", "not supported"})
    if (message.find(sign) != std::string::npos)
      return true;
  return false;
}

// Runs `body` and turns what it throws into the report's status.
template <typename Body>
void guarded(CaseReport &report, Body &&body) {
  try {
    body();
    return;
  } catch (const UnsupportedCase &error) {
    report.status = Status::Unsupported;
    report.message = describe(error);
  } catch (const CompileError &error) {
    report.status =
        namesMissingWord(error.message) ? Status::Unsupported : Status::Error;
    report.message = error.message;
  } catch (const Error &error) {
    report.status = Status::Error;
    report.message = describe(error);
  } catch (const std::bad_alloc &) {
    report.status = Status::Error;
    report.message = "out of memory";
  } catch (const std::exception &error) {
    report.status = Status::Error;
    report.message = error.what();
  }
}

Job makeJob(const fs::path &folder, Device &device) {
  Job job;
  job.report.folder = folder.string();
  job.report.device = device.name();
  const fs::path normal = folder.lexically_normal();
  job.report.name =
      (normal.has_filename() ? normal : normal.parent_path()).filename();
  guarded(job.report, [&] {
    job.loaded = loadCase(folder);
    job.report.name = job.loaded->recorded.name;
    job.report.kernel = job.loaded->recorded.kernel;
    if (auto why = device.unsupported(job.loaded->recorded))
      throw UnsupportedCase(*why);
    job.launch =
        device.usesKernelText() ? prepareLaunch(*job.loaded) : PreparedLaunch();
  });
  return job;
}

// Runs the case and writes its tensors.
CaseReport runHere(const Job &job, Device &device,
                   const ReplayOptions &options) {
  CaseReport report = job.report;
  guarded(report, [&] {
    runCase(*job.loaded, *job.launch, device, options.serial, report);
    if (!options.out.empty())
      writeOutput(options.out / (job.loaded->folderName() + ".safetensors"),
                  writeSafetensors(report.produced));
  });
  return report;
}

// The child's side: runs, writes the report, never returns.
[[noreturn]] void runChild(const Job &job, Device &device,
                           const ReplayOptions &options, int pipe) {
  const std::string report = reportJson(runHere(job, device, options));
  std::string_view left = report;
  writeAll(pipe, left); // the parent reports a text that is cut short
  std::fflush(nullptr);
  ::_exit(0);
}

// Reads until the other side closes; false at the time-out.
bool readAll(int fd, std::string &bytes, std::chrono::seconds timeout) {
  const auto end = Clock::now() + timeout;
  char buffer[1 << 14];
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0)
      return false;
    pollfd wanted{fd, POLLIN, 0};
    const int ready =
        ::poll(&wanted, 1, int(std::min<int64_t>(left.count(), 60'000)));
    if (ready < 0 && errno != EINTR)
      return true;
    if (ready <= 0)
      continue;
    const ssize_t got = ::read(fd, buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return true;
    bytes.append(buffer, size_t(got));
  }
}

void runJob(Job &job, Device &device, const ReplayOptions &options) {
  int ends[2];
  if (::pipe(ends) != 0)
    throw Error("cannot make a pipe: " + errnoText(errno),
                "close other programs");
  UniqueFd readEnd(ends[0]), writeEnd(ends[1]);
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0)
    throw Error("cannot start a process: " + errnoText(errno),
                "close other programs");
  if (child == 0) {
    readEnd.reset();
    runChild(job, device, options, writeEnd.get());
  }
  writeEnd.reset();
  std::string bytes;
  const bool ended = readAll(readEnd.get(), bytes, options.timeout);
  if (!ended)
    ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  try {
    job.report = reportFromJson(bytes);
    return;
  } catch (const Error &) {
  }
  job.report.status = Status::Error;
  if (!ended) {
    job.report.message =
        "no end after " + std::to_string(options.timeout.count()) + " s";
    return;
  }
  ExitStatus how;
  how.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  how.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  job.report.message =
      "the launch ended with " + how.text() +
      (how.signal == SIGSEGV || how.signal == SIGBUS
           ? "\nHINT: the kernel used an address far outside its arguments"
           : "");
}

} // namespace

void replay(const std::vector<fs::path> &folders, const ReplayOptions &options,
            const std::function<void(const CaseReport &)> &done) {
  const std::unique_ptr<Device> device =
      openDevice(options.device, options.deviceOptions);
  if (!options.out.empty()) {
    std::error_code error;
    fs::create_directories(options.out, error);
    if (error)
      throw Error("cannot make the folder " + options.out.string() + ": " +
                      error.message(),
                  "name a folder that can be written with --out");
  }
  std::vector<Job> jobs;
  for (const fs::path &folder : folders)
    jobs.push_back(makeJob(folder, *device));
  std::vector<const PreparedLaunch *> launches;
  for (const Job &job : jobs)
    if (job.launch)
      launches.push_back(&*job.launch);
  device->compile(launches);

  Progress progress;
  for (size_t i = 0; i < jobs.size(); ++i) {
    Job &job = jobs[i];
    if (job.launch) {
      guarded(job.report, [&] {
        device->compileOne(*job.launch);
        if (device->survivesFork())
          runJob(job, *device, options);
        else
          job.report = runHere(job, *device, options);
      });
    }
    progress.clear();
    done(job.report);
    if (i + 1 < jobs.size() && progress.due())
      progress.show("replayed " + std::to_string(i + 1) + " of " +
                    std::to_string(jobs.size()) +
                    progress.timeLeft(i + 1, jobs.size()));
    // The tensors of a case are not needed any more.
    job.loaded.reset();
    job.launch.reset();
  }
}

} // namespace tessera::cases
