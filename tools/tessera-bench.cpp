// tools/tessera-bench.cpp - the program that `tessera bench` starts.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/Error.h"
#include "support/StopSignals.h"
#include "tools/bench/Isolated.h"
#include "tools/commands/OptionChecks.h"

#include <CLI/CLI.hpp>

#include <csignal>
#include <cstdio>

using namespace tessera;

namespace {

struct Verb {
  const char *name, *help;
  int (*run)(bench::Run &);
};

const Verb verbs[] = {
    {"fwd",
     "Attention forward over the sequence length: NSA, dense, torch's SDPA",
     bench::benchForward},
    {"bwd", "The same backward", bench::benchBackward},
    {"stages",
     "Each kernel of one layer's attention by itself; on sim: what it needs "
     "and what it executes, predicted time and bound",
     bench::benchStages},
    {"decode", "The next token of a sequence", bench::benchDecode},
    {"step", "One optimizer step of a training run", bench::benchStep},
    {"launch",
     "What a cached launch costs on the host, compared with a bare call of its "
     "code",
     bench::benchLaunch},
    {"cold",
     "A training run up to its first step: nothing compiled, a cache, a pack",
     bench::benchCold},
};

const char *const footer =
    "Devices:\n"
    "  cpu           this machine; times by the steady clock\n"
    "  cuda, cuda:1  NVIDIA GPUs; times by device events, L2 cleared before\n"
    "  sim:sm_80     counters of the GPU's code on the simulator and times\n"
    "                predicted from them, no measured ones (also sim:sm_90)\n\n"
    "What is measured is warmed up once, then timed in rounds, variants in\n"
    "turns. A figure above the hardware's peak is refused. OUT.json has all\n"
    "figures with device, driver, clocks, versions, commit, command and load,\n"
    "Ctrl-C keeps what is known so far.\n\n"
    "Examples:\n"
    "  tessera bench fwd --out fwd\n"
    "  tessera bench bwd --lengths 1024,2048 --device cuda --out bwd\n"
    "  tessera bench stages --device sim:sm_80 --gpu a100 --out stages\n"
    "  tessera bench step --config configs/quickstart.yaml threads=1\n"
    "  tessera bench launch --rounds 51\n\n"
    "docs/bench.md";

std::string joined(int argc, char **argv) {
  std::string text = "tessera bench";
  for (int i = 1; i < argc; ++i)
    text += std::string(" ") + argv[i];
  return text;
}

void addOptions(CLI::App &app, bench::Options &options) {
  app.add_option("--config", options.config,
                 "settings of a training run (YAML): geometry, precision, "
                 "threads; default: 8 query heads, 2 KV heads of 64 channels, "
                 "the blocks of the paper, fp32")
      ->check(CLI::ExistingFile);
  app.add_option("settings", options.settings, "key=value, over the config");
  app.add_option("--device", options.device, "cpu, cuda, cuda:1, sim:sm_80 ...")
      ->capture_default_str();
  app.add_option("--gpu", options.gpu,
                 "GPU of predicted times, with --device sim:...: a100, "
                 "a100-pcie, h100, h200; default: the first one of the target");
  app.add_option("--lengths", options.lengths,
                 "tokens of the sequence: 512,1024,2048")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(1, 1 << 24));
  app.add_option("--rounds", options.rounds,
                 "timed rounds; default: the verb's")
      ->check(CLI::Range(1, 1000000));
  app.add_option("--timeout", options.timeout,
                 "seconds after which a measurement on a GPU is stopped")
      ->check(tessera::tools::positiveNumber())
      ->capture_default_str();
  app.add_option("--out", options.out,
                 "writes OUT.json; default: nothing is written");
}

int runVerb(const bench::Options &options, const Verb &verb) {
  // `cold` itself runs the program that uses the GPU in separate processes.
  if (options.device.starts_with("cuda") && options.verb != "cold")
    return bench::runIsolatedVerb(options, verb.run);
  bench::Run run(options);
  return verb.run(run);
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app{"Measures tessera on this machine, or counts on a simulated "
               "GPU.",
               "tessera bench"};
  app.require_subcommand(1);
  app.footer(footer);
  bench::Options options;
  for (const Verb &verb : verbs) {
    CLI::App *sub = app.add_subcommand(verb.name, verb.help);
    addOptions(*sub, options);
    sub->footer(footer);
  }
  CLI11_PARSE(app, argc, argv);
  options.verb = app.get_subcommands()[0]->get_name();
  options.command = joined(argc, argv);
  try {
    const StopSignals signals;
    int status = 1;
    for (const Verb &verb : verbs)
      if (options.verb == verb.name)
        status = runVerb(options, verb);
    if (const int signal = StopSignals::received()) {
      std::fprintf(stderr, "tessera: interrupted; what is known is %s\n",
                   options.out.empty() ? "above" : "written");
      return 128 + signal;
    }
    return status;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "tessera: error: %s\n", error.what());
  }
  return 1;
}
