// tools/bench/Cold.cpp - tessera bench cold: the time until the first training
// step with nothing compiled, with a cache and with a pack.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/Error.h"
#include "support/File.h"
#include "support/Options.h"
#include "support/Process.h"
#include "support/ScratchFolder.h"
#include "tools/bench/Options.h"

#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <optional>
#include <unistd.h>

namespace tessera::bench {

namespace fs = std::filesystem;

namespace {

// Returns the seconds of a child process, or nullopt if it uses a GPU and
// Options::timeout ends it. Its output goes to a file, which is shown if the
// process fails.
std::optional<double> timeOf(Run &run, SpawnOptions spawn,
                             const std::string &what, const fs::path &folder) {
  const std::string log = (folder / "log").string();
  const UniqueFd kept(
      ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!kept)
    throw Error("cannot write " + log + ": " + errnoText(errno),
                "set TMPDIR to a folder that can be written");
  spawn.descriptors = {{STDERR_FILENO, kept.get()}};
  spawn.quiet = true;
  const auto start = std::chrono::steady_clock::now();
  Process child = Process::spawn(spawn);
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         start)
        .count();
  };
  std::optional<ExitStatus> status;
  while (!(status = child.wait(std::chrono::milliseconds(20)))) {
    if (run.interrupted())
      return 0; // the child ends with its object
    if (run.device().kind == BenchDevice::Kind::Cuda &&
        seconds() > double(run.options().timeout))
      return std::nullopt; // likewise
    run.progress("bench cold: " + what, 0, 0);
  }
  if (!status->ok())
    throw Error(what + " ended with " + status->text() + ":\n" + readFile(log),
                "the same command by itself is easier to look at");
  return seconds();
}

class Cold {
public:
  explicit Cold(Run &run)
      : run(run), programs(executablePath().parent_path()),
        result(run.head("seconds from the start of tessera train to the end of "
                        "its first step, and what was compiled"),
               run.options().out, run.counts() ? "compiled" : "us",
               run.counts() ? "kernels" : "us") {}

  int bench() {
    add("nothing compiled", true, false);
    add("cache", false, false);
    if (!run.interrupted())
      pack();
    add("pack", true, true);
    return result.finish(run.interrupted());
  }

private:
  // Returns `tessera`: in the folder of this program in a build folder, in bin
  // of an installation.
  fs::path tesseraProgram() const {
    const fs::path beside = programs / "tessera";
    std::error_code ignored;
    return fs::is_regular_file(beside, ignored)
               ? beside
               : programs.parent_path().parent_path() / "bin/tessera";
  }

  std::vector<std::string> settings(const std::string &verb) const {
    std::vector<std::string> all = {verb};
    all.insert(all.end(), {"--config", config()});
    all.insert(all.end(), run.options().settings.begin(),
               run.options().settings.end());
    all.push_back("panel=false");
    return all;
  }

  // Returns the run's config, or one that changes no setting, because a pack
  // requires a config.
  std::string config() const {
    if (!run.options().config.empty())
      return run.options().config;
    const fs::path file = scratch.path() / "run.yaml";
    writeFile(file, "train:\n  steps: 1\n");
    return file.string();
  }

  SpawnOptions training(const fs::path &out, const fs::path &cache,
                        bool packed) const {
    SpawnOptions spawn;
    spawn.arguments = settings("train");
    spawn.arguments.insert(spawn.arguments.begin(),
                           (programs / "tessera-train").string());
    for (const char *setting :
         {"train.steps=1", "train.eval_every=0", "train.final_windows=1",
          "train.save_every=0", "resume=never"})
      spawn.arguments.push_back(setting);
    spawn.arguments.push_back("out=" + out.string());
    const bool gpu = run.device().kind == BenchDevice::Kind::Cuda;
    if (gpu)
      spawn.arguments.push_back("runtime.device=cuda");
    const auto set = [&](Option option, const std::string &value) {
      spawn.environment.push_back(std::string(optionInfo(option).name) + "=" +
                                  value);
    };
    set(Option::CacheDir, cache.string());
    set(Option::LogLevel, "warning");
    set(Option::Device, run.counts() ? run.device().name : "cpu");
    set(Option::Record, "");
    set(Option::Pack, packed ? (scratch.path() / "run.tpack").string() : "");
    return spawn;
  }

  void pack() {
    SpawnOptions spawn;
    spawn.arguments = settings("pack");
    spawn.arguments.insert(spawn.arguments.begin(), tesseraProgram().string());
    const std::string target = run.device().kind == BenchDevice::Kind::Cpu
                                   ? "cpu"
                                   : deviceTarget(run.device().name);
    const std::string file = (scratch.path() / "run.tpack").string();
    spawn.arguments.insert(spawn.arguments.end(),
                           {"--targets", target, "-o", file});
    if (!timeOf(run, spawn, "tessera pack", scratch.path()))
      throw Error("tessera pack has no end",
                  "look at the compiler: tessera doctor; --timeout SECONDS "
                  "waits longer");
  }

  void add(const std::string &name, bool fresh, bool packed) {
    const int64_t rounds = run.rounds(3);
    Row row{name};
    Json metrics;
    for (int64_t round = 0; round < rounds && !run.interrupted(); ++round) {
      if (fresh)
        cache = scratch.path() / ("cache" + std::to_string(caches++));
      const fs::path out = scratch.path() / ("run" + std::to_string(runs++));
      const std::optional<double> seconds =
          timeOf(run, training(out, cache, packed),
                 name + ", round " + std::to_string(round + 1) + " of " +
                     std::to_string(rounds),
                 scratch.path());
      if (run.interrupted())
        break;
      if (!seconds) {
        row.missing =
            "no end after " + std::to_string(run.options().timeout) + " s";
        return result.add(row);
      }
      metrics = parseJson(readFile(out / "metrics.json"), "metrics.json");
      if (!run.counts())
        row.seconds.push_back(*seconds);
    }
    if (metrics.is_null())
      return;
    row.more = {{"compiled", metrics.at("kernels_compiled")},
                {"loaded", metrics.at("kernels_loaded")},
                {"packed", metrics.at("kernels_packed")},
                {"not_in_pack", metrics.at("kernels_not_in_pack")},
                {"compiler_processes", metrics.at("compiler_processes")}};
    result.add(row);
  }

  Run &run;
  const fs::path programs;
  const ScratchFolder scratch{"cold"};
  Result result;
  fs::path cache;
  int caches = 0, runs = 0;
};

} // namespace

int benchCold(Run &run) { return Cold(run).bench(); }

} // namespace tessera::bench
