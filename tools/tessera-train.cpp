// tools/tessera-train.cpp - the training program that `tessera train` starts.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/SelectionCheck.h"
#include "runtime/pack/Pack.h"
#include "support/Error.h"
#include "support/OptionValues.h"
#include "trainer/checkpoint/WeightFile.h"
#include "trainer/generate/Generate.h"
#include "trainer/generate/HellaSwag.h"
#include "trainer/generate/Needle.h"
#include "trainer/loop/AttentionLaunches.h"
#include "trainer/loop/KernelList.h"
#include "trainer/loop/Train.h"
#include "trainer/parallel/Launcher.h"
#include "trainer/settings/Config.h"
#include "trainer/settings/Document.h"
#include "trainer/settings/NsaVibe.h"
#include "trainer/settings/Plan.h"

#include <CLI/CLI.hpp>
#include <c10/util/Exception.h>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <numbers>
#include <unistd.h>
#include <utility>

using namespace tessera;

namespace {

/// Prints the last line of a result, if there is one.
void printNote(const std::string &note) {
  if (!note.empty())
    fmt::print("{}\n", note);
}

/// `tessera train`: trains in one process, or launches several.
struct TrainVerb {
  explicit TrainVerb(CLI::App &program)
      : app(program.add_subcommand("train", "train a model")) {
    app->add_option("--config", file, "settings (YAML)");
    app->add_option("settings", overrides, "key=value, over the config");
    app->add_flag("--dry-run", dryRun,
                  "say what the run would take, with every setting and where "
                  "it comes from, and end");
    app->add_option("--nproc", processes,
                    "processes on this machine that share each batch")
        ->check(CLI::Range(1, 1024));
    app->add_flag("--list-kernels", listing,
                  "print what a compiler would be asked for (JSON), and end; "
                  "for tessera pack");
    app->add_flag("--micro-batch", microBatch,
                  "launch the kernels of one micro-batch, and end; for "
                  "tessera tune");
    app->add_flag("--attention-only", attentionOnly,
                  "with one of these two: the kernels of a pattern's attention "
                  "alone, without data");
    app->add_option("--trace-target", traceTarget,
                    "GPU that the traced kernels are listed for in "
                    "kernels.json; for tessera profile");
    app->footer("Examples:\n"
                "  tessera train --config configs/quickstart.yaml\n"
                "  tessera train --config my.yaml data.path=book.txt "
                "out=runs/book train.steps=500\n"
                "  tessera train --config my.yaml --dry-run\n"
                "  tessera train --nproc 2 --config my.yaml "
                "train.batch_size=4\n"
                "The same command again continues from the newest checkpoint.\n"
                "\n" +
                trainer::settingsHelp());
  }

  int run() {
    const trainer::World world = trainer::processWorld();
    if (world.size > 1 && processes > 1)
      throw Error(fmt::format("--nproc {} inside a run of {} processes",
                              processes, world.size),
                  "leave --nproc away: the processes are there already");
    processes = std::max(processes, world.size);
    trainer::Config given = trainer::readConfig(file, overrides, processes);
    given.traceTarget = traceTarget;
    if (dryRun) {
      fmt::print("{}\n{}", trainer::describe(given),
                 trainer::planText(given, trainer::planOf(given)));
      return 0;
    }
    if (listing) {
      fmt::print("{}\n",
                 nlohmann::json(attentionOnly ? trainer::listAttention(given)
                                              : trainer::listKernels(given))
                     .dump());
      return 0;
    }
    if (microBatch) {
      attentionOnly ? trainer::runAttention(given)
                    : trainer::runMicroBatch(given);
      return 0;
    }
    runtime::setPackArguments(packArguments());
    return processes > world.size
               ? trainer::launch(processes, launchArguments())
               : trainer::train(given, world);
  }

  CLI::App *app;

private:
  /// Returns the arguments with which each of several processes starts.
  std::vector<std::string> launchArguments() const {
    std::vector<std::string> all = {"train"};
    if (!file.empty())
      all.insert(all.end(), {"--config", file});
    all.insert(all.end(), overrides.begin(), overrides.end());
    return all;
  }

  /// Returns the arguments of tessera pack for the kernels of the run.
  std::vector<std::string> packArguments() const {
    std::vector<std::string> all = {
        "--config", file.empty() ? "RUN.yaml (an empty file)" : file};
    all.insert(all.end(), overrides.begin(), overrides.end());
    return all;
  }

  std::string file, traceTarget;
  std::vector<std::string> overrides;
  int64_t processes = 1;
  bool dryRun = false, listing = false, microBatch = false;
  bool attentionOnly = false;
};

/// `tessera generate`: prints text of a trained model.
struct GenerateVerb {
  explicit GenerateVerb(CLI::App &program)
      : app(program.add_subcommand("generate", "write text")) {
    app->add_option("--run", options.run, "run folder")->capture_default_str();
    app->add_option("--prompt", options.prompt, "text to go on from")
        ->capture_default_str();
    app->add_option("--tokens", options.tokens, "tokens to write")
        ->capture_default_str();
    app->add_option("--temperature", options.draw.temperature,
                    "0: always the likeliest token")
        ->capture_default_str();
    app->add_option("--top-k", options.draw.topK,
                    "draw from so many of the likeliest tokens; 0: all")
        ->capture_default_str();
    app->add_option("--top-p", options.draw.topP,
                    "draw from the fewest tokens with this share of the "
                    "probability")
        ->capture_default_str();
    app->add_option("--samples", options.samples,
                    "texts that are drawn side by side")
        ->capture_default_str();
    app->add_flag("--reads", reads, "say at the end how many keys were read");
    app->add_option("--seed", options.seed, "of the draws")
        ->capture_default_str();
    app->add_option("settings", options.overrides,
                    "key=value, over the run's config");
  }

  /// Prints one text while it is sampled, or several at the end.
  int run() {
    std::vector<std::string> texts;
    bool begun = false;
    const models::Reads seen =
        trainer::generate(options, [&](int64_t sample, std::string_view text) {
          if (options.samples > 1) {
            texts.resize(size_t(options.samples));
            texts[size_t(sample)] += text;
            return;
          }
          fmt::print("{}{}", begun ? "" : options.prompt, text);
          begun = true;
          std::fflush(stdout);
        });
    if (options.samples == 1 && !begun)
      fmt::print("{}", options.prompt);
    for (size_t i = 0; i < texts.size(); ++i)
      fmt::print("{}{}{}", i ? "\n--------\n" : "", options.prompt, texts[i]);
    std::fputc('\n', stdout);
    if (reads)
      fmt::print(stderr,
                 "keys read: {} compressed, {} selected, {} of the window; {} "
                 "predicted\n",
                 seen.compressed, seen.selected, seen.window, seen.predicted);
    return 0;
  }

  CLI::App *app;

private:
  trainer::GenerateOptions options;
  bool reads = false;
};

/// `tessera evaluate`: measures a trained model.
struct EvaluateVerb {
  explicit EvaluateVerb(CLI::App &program)
      : app(program.add_subcommand("evaluate", "score a trained model")) {
    app->add_option("--run", options.run, "run folder")->capture_default_str();
    app->add_option("--hellaswag", options.hellaswag,
                    "examples with several endings, as llm.c's "
                    "hellaswag_val.bin");
    app->add_flag("--needle", needle,
                  "hide a key and a value in held-out text, and see whether "
                  "the key at its end brings the value back");
    app->add_option("--trials", needles.trials, "of --needle, of each depth")
        ->check(CLI::Range(1, 100000))
        ->capture_default_str();
    app->add_option("--depths", needles.depths,
                    "of --needle, from the start of the text to its end")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app->add_option("--seed", needles.seed, "of --needle")
        ->check(CLI::Range(int64_t(0), int64_t(1) << 53))
        ->capture_default_str();
    app->add_option("--limit", options.limit, "so many examples; 0: all")
        ->check(CLI::Range(int64_t(0), int64_t(1) << 32))
        ->capture_default_str();
    app->add_flag("--each", each,
                  "a line for each example: its right ending, the chosen one, "
                  "the loss of a token of each; of --needle an object with "
                  "tokens and losses");
    app->add_option("settings", options.overrides,
                    "key=value, over the run's config");
  }

  int run() {
    if (needle == !options.hellaswag.empty())
      throw Error(needle ? "both --hellaswag and --needle are given"
                         : "evaluate wants --hellaswag FILE or --needle",
                  "for example tessera evaluate --run runs/mine --needle");
    return needle ? runNeedle() : runChoices();
  }

  CLI::App *app;

private:
  /// Prints one line for each depth, and one for all.
  int runNeedle() {
    needles.run = options.run;
    needles.overrides = options.overrides;
    struct Sum {
      int64_t right = 0, tokens = 0;
      double with = 0, without = 0;
    } depth, all;
    int64_t length = 0, seen = 0;
    const auto add = [](Sum &sum, const trainer::NeedleTrial &trial) {
      sum.right += trial.right;
      for (size_t i = 0; i < trial.losses.size(); ++i, ++sum.tokens) {
        sum.with += trial.losses[i] / std::numbers::ln2;
        sum.without += trial.lossesWithout[i] / std::numbers::ln2;
      }
    };
    const auto line = [](const std::string &what, const Sum &sum) {
      fmt::print("needle: {}: {} of {} tokens right, {:.3f} bits a token, "
                 "{:.3f} without the needle\n",
                 what, sum.right, sum.tokens, sum.with / double(sum.tokens),
                 sum.without / double(sum.tokens));
    };
    const auto score = [&](const trainer::NeedleTrial &trial) {
      if (each)
        fmt::print("{}\n",
                   nlohmann::json({{"depth", trial.depth},
                                   {"tokens", trial.tokens},
                                   {"without", trial.without},
                                   {"losses", trial.losses},
                                   {"losses_without", trial.lossesWithout},
                                   {"right", trial.right}})
                       .dump());
      add(depth, trial);
      add(all, trial);
      length = int64_t(trial.tokens.size());
      if (++seen % needles.trials == 0)
        line(fmt::format("depth {:.0f}%", 100 * trial.depth),
             std::exchange(depth, {}));
    };
    const std::string note = trainer::findNeedles(needles, score);
    line(fmt::format("all depths of {} tokens", length), all);
    printNote(note);
    return 0;
  }

  int runChoices() {
    const trainer::ChoiceResult result = trainer::scoreChoices(
        options, [&](const trainer::ScoredChoice &choice) {
          if (!each)
            return;
          fmt::print("{} {}", choice.label, choice.chosen(true));
          for (size_t i = 0; i < choice.losses.size(); ++i)
            fmt::print(" {:.9g}", choice.losses[i] / double(choice.tokens[i]));
          fmt::print("\n");
        });
    fmt::print("{}\n", trainer::describe(result));
    if (result.cut > 0)
      fmt::print("{} contexts lost their first tokens to fit "
                 "train.seq_len\n",
                 result.cut);
    printNote(result.note);
    return 0;
  }

  trainer::EvaluateOptions options;
  trainer::NeedleOptions needles;
  bool each = false, needle = false;
};

/// `tessera export`: writes a model's weights for other programs.
struct ExportVerb {
  explicit ExportVerb(CLI::App &program)
      : app(program.add_subcommand("export", "write a model's weights")) {
    app->add_option("--run", options.run, "run folder")->capture_default_str();
    app->add_option("file", options.file,
                    "OUT.pt, a dictionary for torch.load, or OUT.safetensors")
        ->required();
    app->add_option("--names", names,
                    "own, or hf: those of a Llama of Hugging Face's")
        ->check(CLI::IsMember({"own", "hf"}))
        ->capture_default_str();
    app->add_option("settings", options.overrides,
                    "key=value, over the run's config");
  }

  int run() {
    options.names = names == "hf" ? trainer::WeightNames::HuggingFace
                                  : trainer::WeightNames::Own;
    const std::string note = trainer::exportWeights(options);
    fmt::print("wrote {}\n", options.file);
    printNote(note);
    return 0;
  }

  CLI::App *app;

private:
  trainer::ExportOptions options;
  std::string names = "own";
};

/// `tessera config`: prints settings.
struct ConfigVerb {
  explicit ConfigVerb(CLI::App &program)
      : app(program.add_subcommand("config", "list the settings")) {
    app->add_option("--config", file, "settings (YAML)");
    app->add_option("settings", overrides, "key=value, over the config");
    app->add_flag("--page", page, "write docs/settings.md instead");
  }

  int run() {
    fmt::print("{}",
               page ? trainer::settingsPage()
                    : trainer::describe(trainer::readConfig(file, overrides)));
    return 0;
  }

  CLI::App *app;

private:
  std::string file;
  std::vector<std::string> overrides;
  bool page = false;
};

/// `tessera check` of a pattern that selects blocks.
struct CheckPatternVerb {
  explicit CheckPatternVerb(CLI::App &program)
      : app(program.add_subcommand(
            "check-pattern",
            "compare a pattern that selects blocks with plain torch")) {
    app->add_option("file", file, "file of the pattern (.py)")->required();
  }

  int run() {
    std::string parameters;
    const auto checks = models::checkSelection(file, parameters);
    fmt::print("{} with {} against plain torch, relative RMS errors\n", file,
               parameters);
    int wrong = 0;
    for (const models::SelectionCheck &check : checks) {
      fmt::print("  {:34}", check.name);
      for (const auto &[name, error] : check.errors)
        fmt::print(" {} {:.1e}", name, error);
      fmt::print(" {}\n", check.isRight()
                              ? "ok"
                              : fmt::format("WRONG: above {:g}", check.limit));
      wrong += !check.isRight();
    }
    return wrong ? 1 : 0;
  }

  CLI::App *app;

private:
  std::string file;
};

// Ends the process without the destructors of LibTorch, which take a tenth of a
// second for the tables of its operators. Runs after all functions that the
// program has registered for its end.
void leave(int status, void *) {
  std::fflush(nullptr);
  ::_exit(status);
}

} // namespace

int main(int argc, char **argv) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  ::on_exit(leave, nullptr);
#else
  (void)leave; // sanitizers report at the end of a process
#endif
  CLI::App app{"Trains language models with Native Sparse Attention, and "
               "writes text with them."};
  app.require_subcommand(1);
  TrainVerb train(app);
  GenerateVerb generate(app);
  EvaluateVerb evaluate(app);
  ExportVerb exported(app);
  ConfigVerb config(app);
  CheckPatternVerb checkPattern(app);
  try {
    // CLI11 would report only the first of these flags, and not name the
    // equivalent setting.
    if (argc > 1 && std::string(argv[1]) == "train")
      trainer::refuseFlagsOfNsaVibe({argv + 2, argv + argc});
  } catch (const Error &e) {
    fmt::print(stderr, "error: {}\n", e.what());
    return 1;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) ? 2 : 0; // 2 as of the other commands
  }

  try {
    checkOptionValues();
    trainer::endWithLauncher();
    return train.app->parsed()          ? train.run()
           : generate.app->parsed()     ? generate.run()
           : evaluate.app->parsed()     ? evaluate.run()
           : exported.app->parsed()     ? exported.run()
           : checkPattern.app->parsed() ? checkPattern.run()
                                        : config.run();
  } catch (const c10::Error &e) { // what() has the frames of the C++ stack, too
    fmt::print(stderr, "error: {}\n", e.what_without_backtrace());
  } catch (const std::exception &e) {
    fmt::print(stderr, "error: {}\n", e.what());
  }
  return 1;
}
