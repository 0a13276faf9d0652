// tools/tune/OnCuda.cpp - tessera tune --device cuda: records, compiles, checks
// and times on this machine's GPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/tune/OnCuda.h"

#include "autotune/search/TableFile.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/StopSignals.h"
#include "tools/gpucheck/GpuCheck.h"
#include "tools/pack/Cases.h"
#include "tools/tune/Recorded.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tessera::tools {

namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;

// Locks a folder for one process. Two processes would remove each other's
// recordings and code. Throws Error if another process holds the lock.
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
  // False if another process removed the file before it was locked.
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
      : search(search), options(options), work(options.out.string() + ".work"),
        only(work) {
    // Rejects a table of another device before anything is recorded.
    tune::TableFile(options.out, options.device, options.provenance);
  }

  int run() {
    std::error_code error;
    const bool resumes = options.resume && fs::exists(packed(), error);
    if (!resumes) {
      fs::remove_all(work, error);
      fs::create_directories(work, error);
      if (error)
        throw Error("cannot make " + work.string() + ": " + error.message(),
                    "name a table in another folder with --out");
      pack();
    }
    const gpucheck::Outcome outcome = measure(resumes);
    if (StopSignals::isSet()) {
      std::fprintf(stderr, "tessera: interrupted; go on with: %s --resume\n",
                   commandLine(search).c_str());
      return 128 + SIGINT;
    }
    if (!outcome.tuned)
      throw Error("no configuration was timed", "the messages above say why; " +
                                                    work.string() +
                                                    " has what was compiled");
    if (outcome.exitCode == 0)
      fs::remove_all(work, error);
    std::printf("%zu launches tuned; table: %s\n", outcome.tuned,
                search.out.c_str());
    return outcome.exitCode;
  }

private:
  // This folder exists only when it is complete.
  fs::path packed() const { return work / "packed"; }

  void pack() {
    PackCasesOptions wanted;
    for (const fs::path &folder : recordedFolders(search, work))
      wanted.cases.push_back(folder.string());
    const fs::path making = work / "packing";
    wanted.out = making.string();
    wanted.targets = {options.device.target};
    // Packs PTX too: newer GPUs run it, and a simulated driver runs only PTX.
    wanted.tune = wanted.tunePtx = wanted.isPart = true;
    const auto half = std::max<int64_t>(1, options.budget.count() / 2);
    wanted.tuneBudget = std::to_string(half) + "s";
    wanted.tuneKernels = search.kernels;
    packCases(wanted); // failed cases are skipped, others are tuned
    if (StopSignals::isSet())
      throw Error("interrupted while configurations were compiled",
                  "nothing was timed; start again: what was compiled is in "
                  "the cache");
    std::error_code error;
    fs::rename(making, packed(), error);
    if (error)
      throw Error("nothing was compiled", "the messages above say why");
  }

  gpucheck::Outcome measure(bool resumes) const {
    const auto passed =
        std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - start);
    gpucheck::Options wanted;
    wanted.folder = packed().string();
    wanted.phases = {"tune"};
    wanted.json = (work / "result.json").string();
    wanted.table = options.out.string();
    wanted.provenance = options.provenance;
    wanted.budget =
        uint32_t(std::max<int64_t>({options.budget.count() - passed.count(),
                                    options.budget.count() / 2, 1}));
    wanted.isPart = true;
    wanted.resume = resumes;
    return gpucheck::runGpuCheck(wanted);
  }

  const TuneSearch &search;
  const tune::SearchOptions &options;
  const Clock::time_point start = Clock::now();
  const fs::path work;
  const OnlyProcess only;
};

} // namespace

int tuneOnCuda(const TuneSearch &search, const tune::SearchOptions &options) {
  return CudaTuning(search, options).run();
}

} // namespace tessera::tools
