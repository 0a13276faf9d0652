// tools/commands/Pack.cpp - tessera pack --config RUN.yaml -o RUN.tpack:
// compiles all kernels of a run into one file.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/Command.h"
#include "tools/commands/OutOption.h"
#include "tools/commands/OutputCheck.h"

#include "autotune/choice/FindTable.h"
#include "autotune/choice/ThisMachine.h"
#include "runtime/Kernel.h"
#include "runtime/launch/LaunchDevice.h"
#include "support/CpuTarget.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/GpuTarget.h"
#include "support/Options.h"
#include "tools/pack/Make.h"
#include "tools/pack/PackListing.h"
#include "tools/pack/Runtime.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

namespace tessera::tools {

namespace fs = std::filesystem;

namespace {

struct PackOptions {
  std::string config, out, show, commit;
  std::vector<std::string> settings, tables;
  std::vector<std::string> targets = {"cpu"};
  bool withRuntime = false;
};

// "cpu" means this machine's CPU target.
std::string targetOf(const std::string &name) {
  if (name == "cpu")
    return hostTarget();
  if (GpuTarget::looksLike(name))
    return GpuTarget::parse(name).name;
  if (!CpuTarget::parse(name))
    throw Error("--targets: " + name + " is not a target",
                "write cpu (this machine), one such as cpu:x86-64-v3:0000, or "
                "GPUs such as sm_80");
  return name;
}

std::string commandLine(const PackOptions &options) {
  std::string text = "tessera pack";
  if (!options.config.empty())
    text += " --config " + options.config;
  for (const std::string &word : options.settings)
    text += " " + word;
  text += " --targets ";
  for (size_t i = 0; i < options.targets.size(); ++i)
    text += (i ? "," : "") + options.targets[i];
  for (const std::string &table : options.tables)
    text += " --table " + table;
  return text + (options.withRuntime ? " --with-runtime" : "") + " -o " +
         options.out;
}

// Returns the tables that the user named, or else the tables of this build for
// one of the targets.
std::vector<PackTable> tablesFor(const PackOptions &options,
                                 const std::vector<std::string> &targets) {
  std::vector<fs::path> files(options.tables.begin(), options.tables.end());
  const bool named = !files.empty();
  std::error_code error;
  if (const fs::path folder = tune::tunedFolder(); !named && !folder.empty())
    for (const auto &file : fs::directory_iterator(folder, error))
      if (file.path().extension() == ".yaml")
        files.push_back(file.path());
  std::sort(files.begin(), files.end());
  std::vector<PackTable> tables;
  for (const fs::path &file : files) {
    PackTable made{file.string(), tune::readTable(file)};
    const std::string &target = made.table.device.target;
    const bool packed =
        std::find(targets.begin(), targets.end(), target) != targets.end();
    const bool here = GpuTarget::looksLike(target) ||
                      fits(made.table.device,
                           tune::deviceModel(runtime::findLaunchDevice("cpu")));
    if (packed && here)
      tables.push_back(std::move(made));
    else if (named)
      throw Error(file.string() + " is for " + describe(made.table.device) +
                      (packed ? ", another processor than this one"
                              : ", which is not among the targets"),
                  packed ? "make the pack on that machine"
                         : "add " + target + " to --targets");
  }
  return tables;
}

int run(const PackOptions &options) {
  const LaunchSource source = launchSource(options.config, options.settings);
  if (!options.show.empty()) {
    if (!source.name().empty())
      throw Error("tessera pack does one thing at a time",
                  "give --show FILE or --config FILE");
    return printPackListing(options.show);
  }
  if (!source.name().empty() && options.out.empty())
    throw Error("tessera pack was not told where to write the pack",
                "add -o " + fs::path(source.name()).stem().string() + ".tpack");
  if (source.name().empty())
    throw Error("tessera pack was not told what to pack",
                "write: tessera pack --config RUN.yaml --targets "
                "sm_80,sm_90,cpu -o RUN.tpack");
  if (options.withRuntime && options.config.empty())
    throw Error("--with-runtime makes a folder that trains, and " +
                    source.pattern + " is a pattern",
                "give --config RUN.yaml, or leave --with-runtime away");
  if (options.withRuntime)
    requireWritableFolder(options.out);
  else
    requireWritableFile(options.out);
  // The new pack must contain everything, so kernels must not come from an
  // earlier pack.
  ::unsetenv(optionInfo(Option::Pack).name);
  PackJob job;
  job.source = source;
  for (const std::string &name : options.targets)
    if (const std::string target = targetOf(name);
        std::find(job.targets.begin(), job.targets.end(), target) ==
        job.targets.end())
      job.targets.push_back(target);
  job.tables = tablesFor(options, job.targets);
  job.version = TESSERA_VERSION;
  job.commit = options.commit;
  job.command = commandLine(options);
  const std::string bytes = makePack(job);
  if (!options.withRuntime) {
    writeOutput(options.out, bytes);
    std::error_code error;
    // A pipe cannot be read again, and no text may follow the pack in it.
    return fs::is_regular_file(options.out, error) &&
                   !fs::equivalent(options.out, "/dev/stdout", error)
               ? printPackListing(options.out)
               : 0;
  }
  writeRuntime(options.out, options.config, options.settings, bytes);
  printPackListing(fs::path(options.out) / "run.tpack");
  std::printf("train where there is torch " TESSERA_TORCH_VERSION
              ": %s/train [key=value ...]\n",
              options.out.c_str());
  return 0;
}

} // namespace

Command addPack(CLI::App &app) {
  auto options = std::make_shared<PackOptions>();
  CLI::App *verb = app.add_subcommand(
      "pack", "Put the compiled kernels of a training run into one file");
  verb->add_option("--config", options->config,
                   "the run: tessera train --config FILE [key=value ...]");
  verb->add_option("settings", options->settings,
                   "key=value, over the config; without --config FILE.py of a "
                   "pattern, whose op is packed, and sizes: "
                   "model.n_heads=8 train.seq_len=4096");
  verb->add_option("--targets,--target", options->targets,
                   "cpu (this machine), cpu:x86-64-v3:0000, sm_80, sm_90 ...")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->capture_default_str();
  verb->add_option("--table", options->tables,
                   "tables of tuned configurations that go into the pack; "
                   "default: those of configs/tuned for these targets")
      ->delimiter(',')
      ->allow_extra_args(false);
  addOut(*verb, options->out, "the file; with --with-runtime a folder");
  verb->add_flag("--with-runtime", options->withRuntime,
                 "make a folder that trains on a machine with torch and no "
                 "compiler");
  verb->add_option("--commit", options->commit, "of the sources; kept");
  verb->add_option("--show", options->show,
                   "check a pack and say what it holds");
  verb->footer("Examples:\n"
               "  tessera pack --config configs/quickstart.yaml --targets "
               "sm_80,sm_90,cpu -o run.tpack\n"
               "  tessera pack kernels/patterns/moba.py model.n_heads=8 "
               "train.seq_len=4096 -o moba.tpack\n"
               "  tessera pack --show run.tpack\n"
               "  TESSERA_PACK=run.tpack tessera train --config "
               "configs/quickstart.yaml\n\n"
               "docs/packs.md");
  return {verb, [options] { return run(*options); }};
}

} // namespace tessera::tools
