// tools/tessera-train.cpp - the training program behind `tessera train`.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/Error.h"
#include "trainer/Config.h"
#include "trainer/Generate.h"
#include "trainer/KernelList.h"
#include "trainer/Launcher.h"
#include "trainer/Plan.h"
#include "trainer/Train.h"
#include "trainer/settings/Document.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace tessera;

/// What each of several processes is started with.
static std::vector<std::string>
launchArguments(const std::string &file,
                const std::vector<std::string> &overrides) {
  std::vector<std::string> all = {"train"};
  if (!file.empty())
    all.insert(all.end(), {"--config", file});
  all.insert(all.end(), overrides.begin(), overrides.end());
  return all;
}

/// One text as it is drawn, several one after the other at the end.
static void writeText(const trainer::GenerateOptions &options, bool reads) {
  const bool one = options.samples == 1;
  std::vector<std::string> texts(size_t(options.samples));
  if (one)
    fmt::print("{}", options.prompt);
  const models::Reads seen =
      trainer::generate(options, [&](int64_t sample, std::string_view text) {
        if (!one) {
          texts[size_t(sample)] += text;
          return;
        }
        fmt::print("{}", text);
        std::fflush(stdout);
      });
  if (!one)
    for (size_t i = 0; i < texts.size(); ++i)
      fmt::print("{}{}{}", i ? "\n--------\n" : "", options.prompt, texts[i]);
  std::fputc('\n', stdout);
  if (reads)
    fmt::print(stderr,
               "keys read: {} compressed, {} selected, {} of the window; {} "
               "predicted\n",
               seen.compressed, seen.selected, seen.window, seen.predicted);
}

int main(int argc, char **argv) {
  CLI::App app{"Trains language models with Native Sparse Attention, and "
               "writes text with them."};
  app.require_subcommand(1);
  std::string file;
  std::vector<std::string> overrides;
  trainer::GenerateOptions generation;

  CLI::App *train = app.add_subcommand("train", "train a model");
  train->add_option("--config", file, "settings (YAML)");
  train->add_option("settings", overrides, "key=value, over the config");
  bool dryRun = false;
  train->add_flag("--dry-run", dryRun,
                  "say what the run would take, with every setting and where "
                  "it comes from, and end");
  int64_t processes = 1;
  train
      ->add_option("--nproc", processes,
                   "processes on this machine that share each batch")
      ->check(CLI::Range(1, 1024));
  bool listing = false;
  train->add_flag("--list-kernels", listing,
                  "print what a compiler would be asked for (JSON), and end; "
                  "for tessera pack");
  train->footer(trainer::settingsHelp());

  CLI::App *generate = app.add_subcommand("generate", "write text");
  generate->add_option("--run", generation.run, "run folder")
      ->capture_default_str();
  generate->add_option("--prompt", generation.prompt, "text to go on from")
      ->capture_default_str();
  generate->add_option("--tokens", generation.tokens, "tokens to write")
      ->capture_default_str();
  generate
      ->add_option("--temperature", generation.draw.temperature,
                   "0: always the likeliest token")
      ->capture_default_str();
  generate
      ->add_option("--top-k", generation.draw.topK,
                   "draw from so many of the likeliest tokens; 0: all")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  generate
      ->add_option("--top-p", generation.draw.topP,
                   "draw from the fewest tokens with this share of the "
                   "probability")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  generate
      ->add_option("--samples", generation.samples,
                   "texts that are drawn side by side")
      ->check(CLI::Range(int64_t(1), int64_t(4096)))
      ->capture_default_str();
  bool reads = false;
  generate->add_flag("--reads", reads,
                     "say at the end how many keys were read");
  generate->add_option("--seed", generation.seed, "of the draws")
      ->capture_default_str();
  generate->add_option("settings", generation.overrides,
                       "key=value, over the run's config");

  CLI::App *config = app.add_subcommand("config", "list the settings");
  config->add_option("--config", file, "settings (YAML)");
  config->add_option("settings", overrides, "key=value, over the config");
  bool page = false;
  config->add_flag("--page", page, "write docs/settings.md instead");
  CLI11_PARSE(app, argc, argv);

  try {
    trainer::endWithLauncher();
    const trainer::World world = trainer::processWorld();
    if (world.size > 1 && processes > 1)
      throw Error(fmt::format("--nproc {} inside a run of {} processes",
                              processes, world.size),
                  "leave --nproc away: the processes are there already");
    processes = std::max(processes, world.size);
    if (train->parsed() && dryRun) {
      const trainer::Config given =
          trainer::readConfig(file, overrides, processes);
      fmt::print("{}\n{}", trainer::describe(given),
                 trainer::planText(given, trainer::planOf(given)));
      return 0;
    }
    if (train->parsed() && listing) {
      const trainer::Config given =
          trainer::readConfig(file, overrides, processes);
      fmt::print("{}\n", nlohmann::json(trainer::listKernels(given)).dump());
      return 0;
    }
    if (train->parsed()) {
      const trainer::Config given =
          trainer::readConfig(file, overrides, processes);
      return processes > world.size
                 ? trainer::launch(processes, launchArguments(file, overrides))
                 : trainer::train(given, world);
    }
    if (page) {
      fmt::print("{}", trainer::settingsPage());
      return 0;
    }
    if (config->parsed()) {
      fmt::print("{}", trainer::describe(trainer::readConfig(file, overrides)));
      return 0;
    }
    writeText(generation, reads);
    return 0;
  } catch (const Error &e) {
    fmt::print(stderr, "error: {}\n", e.message);
    if (!e.hint.empty())
      fmt::print(stderr, "HINT: {}\n", e.hint);
  } catch (const std::exception &e) {
    fmt::print(stderr, "error: {}\n", e.what());
  }
  return 1;
}
