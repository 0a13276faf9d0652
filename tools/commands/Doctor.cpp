// tools/commands/Doctor.cpp - tessera doctor: reports what is installed and
// what is missing.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/Command.h"

#include "runtime/Kernel.h"
#include "runtime/cache/Cache.h"
#include "runtime/compile/WorkerPool.h"
#include "runtime/launch/FindFile.h"
#include "support/BuildId.h"
#include "support/CudaTools.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/Options.h"
#include "support/Process.h"
#include "support/Text.h"
#include "tools/commands/TrainProgram.h"

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <memory>
#include <sys/resource.h>
#include <vector>

namespace tessera::tools {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

enum class State { Good, Missing, Broken };

class Report {
public:
  explicit Report(bool strict) : strict(strict) {}

  // Adds a line. `without` tells what works without the item, or what to do. A
  // missing item that is `needed` fails --strict.
  void add(State state, const std::string &what, const std::string &found,
           const std::string &without = "", bool needed = false) {
    static const char *const marks[] = {"ok", "missing", "BROKEN"};
    const bool unmet = strict && needed && state == State::Missing;
    line(unmet ? "UNMET" : marks[int(state)], what, found, without);
    if (state == State::Broken || unmet)
      failures.push_back({what, found, without});
  }

  // Adds a condition that only --strict requires.
  void require(bool met, const std::string &what, const std::string &found,
               const std::string &remedy) {
    line(met ? "ok" : "UNMET", what, found, met ? "" : remedy);
    if (!met)
      failures.push_back({what, found, remedy});
  }

  struct Failure {
    std::string what, found, remedy;
  };
  std::vector<Failure> failures;
  const bool strict;

private:
  static void line(const char *mark, const std::string &what,
                   const std::string &found, const std::string &more) {
    std::printf("%-8s %-18s %s\n", mark, what.c_str(), found.c_str());
    if (!more.empty())
      std::printf("%-8s %-18s %s\n", "", "", more.c_str());
    std::fflush(stdout);
  }
};

// True for the program of the Python package: its folder bin is in the package.
bool inPackage() {
  return isFile(executablePath().parent_path().parent_path() / "_programs.py");
}

// Returns the remedy for a file that comes with this program: `otherwise`, or
// the command that installs the Python package again.
std::string remedyFor(const std::string &otherwise) {
  return inPackage() ? "pip install --force-reinstall --no-deps tessera-kernels"
                     : otherwise;
}

void checkProcessor(Report &report) {
  try {
    report.add(State::Good, "processor", hostTarget());
  } catch (const Error &error) {
    report.add(State::Broken, "processor", error.message, error.hint);
  }
}

void checkWorker(Report &report) {
  fs::path worker;
  try {
    worker = runtime::findWorker();
  } catch (const Error &error) {
    report.add(State::Broken, "compiler", error.message,
               remedyFor(error.hint) + "; without it only cached kernels run");
    return;
  }
  const CommandResult version =
      runCommand({worker.string(), "--version"}, seconds(60));
  if (!version.status.ok()) {
    report.add(State::Broken, "compiler",
               worker.string() + ": " + version.status.text(),
               firstLine(version.errors));
    return;
  }
  if (firstLine(version.output) != compilerBuildId()) {
    report.add(State::Broken, "compiler",
               worker.string() + " is of another build",
               remedyFor("build both together, or set TESSERA_WORKER"));
    return;
  }
  const CommandResult test =
      runCommand({worker.string(), "--selftest"}, seconds(120));
  report.add(test.status.ok() ? State::Good : State::Broken, "compiler",
             worker.string() + " " + firstLine(version.output).substr(0, 12) +
                 (test.status.ok() ? ": " + firstLine(test.output)
                                   : " fails its self-test"),
             test.status.ok() ? "" : firstLine(test.output + test.errors));
}

void checkCache(Report &report) {
  const fs::path folder = runtime::defaultCacheFolder();
  const std::string without =
      "kernels are compiled anew by every program until then";
  if (folder.empty()) {
    report.add(State::Missing, "cache", "no home directory is set",
               "set TESSERA_CACHE_DIR; " + without, true);
    return;
  }
  try {
    // A run makes the folder, too. Whether that works shows only if it is done.
    std::error_code ignored;
    if (!fs::exists(folder, ignored))
      makePrivateFolder(folder);
  } catch (const Error &error) {
    report.add(State::Missing, "cache", error.message,
               "set TESSERA_CACHE_DIR to a folder that you may write to; " +
                   without,
               true);
    return;
  }
  const FolderCheck check = checkPrivateFolder(folder);
  if (check.state != FolderState::Good) {
    report.add(State::Missing, "cache", check.reason,
               check.hint + "; " + without, true);
    return;
  }
  runtime::Cache cache(folder);
  uint64_t bytes = 0, bad = 0;
  const auto entries = cache.list();
  for (const runtime::CacheEntry &entry : entries) {
    bytes += entry.bytes;
    bad += entry.bad;
  }
  report.add(State::Good, "cache",
             folder.string() + ", " + std::to_string(entries.size()) +
                 " kernels, " + std::to_string(bytes / 1024) + " KiB" +
                 (bad ? ", " + std::to_string(bad) + " bad" : ""));
}

void checkKernels(Report &report) {
  try {
    report.add(State::Good, "kernel files",
               fs::path(runtime::findKernelFile("kernels/nsa/window_fwd.py"))
                   .parent_path()
                   .parent_path()
                   .string());
  } catch (const Error &error) {
    report.add(State::Broken, "kernel files", error.message,
               remedyFor(error.hint));
  }
}

// Checks training by starting the program that links torch.
void checkTraining(Report &report) {
  TrainProgram program;
  try {
    program = findTrainProgram("tessera-train");
  } catch (const Error &error) {
    report.add(State::Broken, "training", error.message,
               remedyFor(error.hint) +
                   "; compile, check and replay work without it");
    return;
  }
  const CommandResult result = runCommand({program.path.string(), "config"},
                                          seconds(60), program.environment);
  report.add(result.status.ok() ? State::Good : State::Broken, "training",
             program.path.string() + (result.status.ok()
                                          ? " starts, with LibTorch"
                                          : ": " + result.status.text()),
             result.status.ok() ? ""
             : inPackage() ? firstLine(result.errors) +
                                 "; pip install 'torch==" TESSERA_TORCH_VERSION
                                 ".*'"
                           : firstLine(result.errors));
}

void checkPlugIn(Report &report) {
  const fs::path library =
      executablePath().parent_path().parent_path() / "lib/libtessera_torch.so";
  if (fs::exists(library))
    report.add(State::Good, "torch plug-in", library.string());
  else
    report.add(State::Missing, "torch plug-in", "no " + library.string(),
               "Python cannot load our ops; " +
                   remedyFor("build the target tessera_ops"));
}

// Returns site-packages of the pinned wheels, or an empty path.
fs::path packages() {
  const fs::path lib = wheelFolder() / "venv/lib";
  std::error_code failed;
  for (const auto &entry : fs::directory_iterator(lib, failed))
    if (entry.path().filename().string().starts_with("python3"))
      return entry.path() / "site-packages";
  return {};
}

// Returns the version of a wheel, such as "2.15.0" for torch-2.15.0.dist-info,
// or an empty string without the wheel.
std::string wheelVersion(const fs::path &site, const std::string &name) {
  std::error_code failed;
  for (const auto &entry : fs::directory_iterator(site, failed)) {
    const std::string file = entry.path().filename().string();
    const std::string ending = ".dist-info";
    if (file.starts_with(name + "-") && file.ends_with(ending))
      return file.substr(name.size() + 1,
                         file.size() - name.size() - 1 - ending.size());
  }
  return "";
}

void checkWheels(Report &report) {
  if (inPackage())
    return; // torch is that of the user's Python, and checkTraining() needs it
  const fs::path site = packages();
  const std::string torch = wheelVersion(site, "torch");
  if (torch.empty()) {
    report.add(State::Missing, "wheels",
               "no torch under " + wheelFolder().string(),
               "run scripts/setup; programs that are built need it only when "
               "they train");
    return;
  }
  std::string found = "torch " + torch;
  for (const char *name : {"triton", "numpy"})
    if (const std::string version = wheelVersion(site, name); !version.empty())
      found += std::string(", ") + name + " " + version;
  const bool all = found.find("triton") != std::string::npos;
  report.add(State::Good, "wheels", found + " in " + site.string(),
             all ? "" : "without triton the tests under its interpreter skip");
}

void checkText(Report &report) {
  const fs::path text = wheelFolder() / "data/kjv.txt";
  std::error_code ignored;
  if (fs::exists(text, ignored)) {
    report.add(State::Good, "training text", text.string());
    return;
  }
  if (fs::exists("/usr/bin/bible", ignored))
    report.add(State::Good, "training text", "the program `bible` prints it");
  else
    report.add(State::Missing, "training text", "no bible-kjv",
               "apt-get install bible-kjv, or train on a file of yours with "
               "data.path=FILE");
}

// Reports the ptxas that the compiler would use.
void checkPtxas(Report &report) {
  try {
    std::string why;
    if (const auto ptxas = findPtxas({}, &why))
      report.add(State::Good, "ptxas", ptxas->path.string());
    else
      report.add(State::Missing, "ptxas", why,
                 "PTX is written and simulated without it");
  } catch (const Error &error) {
    report.add(State::Broken, "ptxas", error.message, error.hint);
  }
}

void checkGpu(Report &report) {
  const char *const works = "kernels run on the CPU; PTX runs on the simulator";
  std::error_code ignored;
  void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  const bool device = fs::exists("/dev/nvidiactl", ignored);
  if (driver)
    dlclose(driver);
  if (device && driver)
    report.add(State::Good, "NVIDIA device", "driver and device are there");
  else
    report.add(State::Missing, "NVIDIA device",
               !device ? "no /dev/nvidiactl" : "no libcuda.so.1", works);

  checkPtxas(report);

  const fs::path site = packages();
  std::string nvrtc = optionText(Option::Nvrtc);
  std::vector<fs::path> folders;
  if (const char *home = std::getenv("CUDA_HOME"); home && *home)
    folders.push_back(fs::path(home) / "lib64");
  for (const char *wheel : {"nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"})
    folders.push_back(site / wheel);
  for (const fs::path &folder : folders)
    for (const auto &entry : fs::directory_iterator(folder, ignored))
      if (nvrtc.empty() &&
          entry.path().filename().string().starts_with("libnvrtc.so"))
        nvrtc = entry.path().string();
  if (!nvrtc.empty() && fs::exists(nvrtc, ignored))
    report.add(State::Good, "NVRTC", nvrtc);
  else
    report.add(State::Missing, "NVRTC", "no libnvrtc.so",
               "CUDA C++ kernels do not compile; kernels in Python syntax do");
}

std::string environmentText(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

// Reports settings that slow a run down or change its numbers without a
// message.
void checkFlags(Report &report) {
  static const struct {
    const char *name, *value, *effect; // no value: any but 0
  } flags[] = {{"CUDA_LAUNCH_BLOCKING", "", "waits for every launch"},
               {"PYTORCH_NO_CUDA_MEMORY_CACHING", "",
                "takes GPU memory from the driver for every tensor"},
               {"NVIDIA_TF32_OVERRIDE", "0", "switches TF32 off"},
               {"TORCH_DISTRIBUTED_DEBUG", "DETAIL",
                "checks every exchange of gradients"}};
  std::string found, names;
  for (const auto &flag : flags) {
    const std::string value = environmentText(flag.name);
    if (value.empty() || (*flag.value ? value != flag.value : value == "0"))
      continue;
    found += (found.empty() ? "" : "; ") + std::string(flag.name) + "=" +
             value + " " + flag.effect;
    names += std::string(" ") + flag.name;
  }
  const std::string device = optionText(Option::Device);
  if (device.starts_with("sim:") || device.ends_with(":check")) {
    found += (found.empty() ? "" : "; ") + std::string("TESSERA_DEVICE=") +
             device + " checks every access";
    names += " TESSERA_DEVICE";
  }
  report.require(found.empty(), "debug flags", found.empty() ? "none" : found,
                 "unset" + names);
}

void checkGpuSettings(Report &report) {
  std::error_code ignored;
  const bool there = fs::exists("/dev/nvidiactl", ignored);
  const bool wanted = optionText(Option::Device).starts_with("cuda");
  if (wanted)
    report.require(there, "GPU wanted",
                   there ? "TESSERA_DEVICE=cuda, and it is there"
                         : "TESSERA_DEVICE=cuda without "
                           "/dev/nvidiactl",
                   "install NVIDIA's driver, give a container its devices, or "
                   "unset TESSERA_DEVICE");
  if (!there && !wanted)
    return;
  std::string allocator = environmentText("PYTORCH_CUDA_ALLOC_CONF");
  if (allocator.empty())
    allocator = environmentText("PYTORCH_ALLOC_CONF");
  report.require(
      allocator.find("expandable_segments:True") != std::string::npos,
      "GPU allocator", allocator.empty() ? "torch's defaults" : allocator,
      "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True: "
      "torch keeps less memory that it cannot use");
}

void checkLimits(Report &report) {
  constexpr rlim_t files = 1024;
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  const bool enough =
      limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= files;
  report.require(enough, "open files",
                 limit.rlim_cur == RLIM_INFINITY
                     ? "as many as one likes"
                     : "at most " + std::to_string(limit.rlim_cur),
                 "ulimit -n " + std::to_string(files) +
                     ": data in many files, and the processes of a run, need "
                     "them");
  constexpr uintmax_t bytes = uintmax_t(1) << 30;
  std::error_code failed;
  const fs::space_info space = fs::space(".", failed);
  report.require(!failed && space.available >= bytes, "disk",
                 failed ? failed.message()
                        : std::to_string(space.available >> 20) +
                              " MiB free where runs go",
                 "free 1 GiB of this folder's disk, or set out to a folder of "
                 "another one: checkpoints go there");
}

int runDoctor(bool strict) {
  Report report(strict);
  checkProcessor(report);
  checkWorker(report);
  checkCache(report);
  checkKernels(report);
  checkTraining(report);
  checkPlugIn(report);
  checkWheels(report);
  checkText(report);
  checkGpu(report);
  for (const std::string &line : unknownOptions())
    report.add(State::Missing, "environment", line,
               strict ? "unset it, or give it the name that is meant" : "",
               true);
  if (strict) {
    checkFlags(report);
    checkGpuSettings(report);
    checkLimits(report);
  }
  if (report.failures.empty()) {
    std::printf(strict ? "\nCPU training works, and nothing prevents a "
                         "long run\n"
                       : "\nCPU training works\n");
    return 0;
  }
  const size_t count = report.failures.size();
  if (!strict) {
    std::printf("\n%zu of these must be repaired before CPU training works\n",
                count);
    return 1;
  }
  std::printf("\nnot met: %zu\n", count);
  for (const Report::Failure &failure : report.failures)
    std::printf(
        "  %s: %s\n      %s\n", failure.what.c_str(), failure.found.c_str(),
        failure.remedy.empty() ? "see the line above" : failure.remedy.c_str());
  return 1;
}

} // namespace

Command addDoctor(CLI::App &app) {
  CLI::App *verb = app.add_subcommand(
      "doctor", "What is present, what is missing, what works without it");
  const auto strict = std::make_shared<bool>(false);
  verb->add_flag("--strict", *strict,
                 "also what a long run should not meet: debug flags, limits, a "
                 "cache that is not kept; all of it fails");
  verb->footer("Exit status 0: training on the CPU works. Lines that say "
               "BROKEN are why it does not;\nmissing is what only other things "
               "need; UNMET is what --strict demands besides.");
  return {verb, [strict] { return runDoctor(*strict); }};
}

} // namespace tessera::tools
