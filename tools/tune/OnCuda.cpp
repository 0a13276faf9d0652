// tools/tune/OnCuda.cpp - tessera tune --device cuda.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/tune/OnCuda.h"

#include "autotune/search/TableFile.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/Process.h"
#include "support/StopSignals.h"
#include "tools/tune/Recorded.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tessera::tools {

namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;

// Beside this program, as in a build folder, a wheel and a pack, or in
// libexec/tessera of an installation.
fs::path gpuCheckProgram() {
  const fs::path folder = executablePath().parent_path();
  for (const fs::path &place :
       {folder, folder.parent_path() / "libexec/tessera"}) {
    std::error_code ignored;
    if (fs::is_regular_file(place / "tessera-gpu-check", ignored))
      return place / "tessera-gpu-check";
  }
  throw Error("tessera-gpu-check is not there, which times kernels on a GPU; "
              "looked in " +
                  folder.string(),
              "build the target tessera-gpu-check");
}

// The process that works in a folder: two would remove each other's recordings
// and code. Throws Error where there is one already.
class OnlyProcess {
public:
  explicit OnlyProcess(const fs::path &folder) : file(folder) {
    file += ".lock";
    do {
      lock.reset(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
      if (lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0 &&
          errno == EWOULDBLOCK)
        throw Error("another tessera tune --device cuda works in " +
                        folder.string(),
                    "wait until it ends, or name another table with --out; "
                    "tessera tune --merge puts two tables together");
    } while (lock && !isThere());
  }
  ~OnlyProcess() {
    if (lock)
      ::unlink(file.c_str());
  }

private:
  // False where another process removed the file before it was locked.
  bool isThere() const {
    struct stat ours, theirs;
    return ::fstat(lock.get(), &ours) == 0 &&
           ::stat(file.c_str(), &theirs) == 0 && ours.st_ino == theirs.st_ino;
  }

  fs::path file;
  UniqueFd lock;
};

class CudaTuning {
public:
  CudaTuning(const TuneSearch &search, const tune::SearchOptions &options)
      : search(search), options(options), program(gpuCheckProgram()),
        work(options.out.string() + ".work"), only(work),
        table(options.out, options.device, options.provenance) {}

  int run() {
    std::error_code error;
    const bool goesOn = options.resume && fs::exists(packed(), error);
    if (!goesOn) {
      fs::remove_all(work, error);
      fs::create_directories(work, error);
      if (error)
        throw Error("cannot make " + work.string() + ": " + error.message(),
                    "name a table in another folder with --out");
      pack();
    }
    const ExitStatus how = measure(goesOn);
    const size_t found = keep();
    if (StopSignals::isSet()) {
      std::fprintf(stderr, "tessera: interrupted; go on with: %s --resume\n",
                   commandLine(search).c_str());
      return 128 + SIGINT;
    }
    if (!found)
      throw Error("no configuration was timed; tessera-gpu-check ended with " +
                      how.text(),
                  "its own messages stand above; " + work.string() +
                      " has what was compiled");
    if (how.ok())
      fs::remove_all(work, error);
    std::printf("%zu launches tuned; table: %s\n", found, search.out.c_str());
    return how.ok() ? 0 : 1;
  }

private:
  // It is there once everything in it is.
  fs::path packed() const { return work / "packed"; }

  // Ctrl-C is passed on: a child is in a group of its own.
  static ExitStatus runChild(const SpawnOptions &spawn) {
    Process child = Process::spawn(spawn);
    bool told = false;
    std::optional<ExitStatus> status;
    while (!(status = child.wait(std::chrono::milliseconds(100))))
      if (StopSignals::isSet() && !told) {
        told = true;
        ::kill(child.pid(), SIGINT);
      }
    return *status;
  }

  void pack() {
    const auto folders = recordedFolders(search, work);
    const auto half = std::max<int64_t>(1, options.budget.count() / 2);
    const fs::path making = work / "packing";
    SpawnOptions spawn;
    spawn.arguments = {executablePath().string(), "pack-cases"};
    for (const fs::path &folder : folders)
      spawn.arguments.push_back(folder.string());
    // PTX too: newer GPUs run it, and a simulated driver runs nothing else.
    spawn.arguments.insert(
        spawn.arguments.end(),
        {"-o", making.string(), "--target", options.device.target, "--tune",
         "--tune-ptx", "--tune-budget", std::to_string(half) + "s", "--part"});
    if (!search.kernels.empty())
      spawn.arguments.insert(spawn.arguments.end(),
                             {"--tune-kernels", search.kernels});
    const ExitStatus how = runChild(spawn);
    if (StopSignals::isSet())
      throw Error("interrupted while configurations were compiled",
                  "nothing was timed; start again: what was compiled is in "
                  "the cache");
    std::error_code error;
    // Some cases may have failed; those that did not are tuned.
    fs::rename(making, packed(), error);
    if (error)
      throw Error("nothing was compiled: tessera pack-cases ended with " +
                      how.text(),
                  "its own messages stand above");
  }

  ExitStatus measure(bool goesOn) const {
    const auto passed =
        std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - start);
    const int64_t left =
        std::max<int64_t>({options.budget.count() - passed.count(),
                           options.budget.count() / 2, 1});
    SpawnOptions spawn;
    spawn.arguments = {
        program.string(), packed().string(),    "--phases", "tune",
        "--json",         result().string(),    "--table",  found().string(),
        "--budget",       std::to_string(left), "--part"};
    std::error_code ignored;
    if (goesOn && fs::exists(result(), ignored))
      spawn.arguments.push_back("--resume");
    return runChild(spawn);
  }

  // What the GPU said, in the table.
  size_t keep() {
    std::error_code ignored;
    if (!fs::exists(found(), ignored))
      return 0;
    const tune::TuneTable made = tune::readTable(found());
    for (const tune::TuneEntry &entry : made.entries())
      table.replace(entry);
    table.write();
    return made.entries().size();
  }

  fs::path result() const { return work / "result.json"; }
  fs::path found() const { return work / "table.yaml"; }

  const TuneSearch &search;
  const tune::SearchOptions &options;
  const Clock::time_point start = Clock::now();
  const fs::path program, work;
  const OnlyProcess only;
  tune::TableFile table;
};

} // namespace

int tuneOnCuda(const TuneSearch &search, const tune::SearchOptions &options) {
  return CudaTuning(search, options).run();
}

} // namespace tessera::tools
