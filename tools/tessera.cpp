// tools/tessera.cpp - the program `tessera VERB`.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/Error.h"
#include "support/Lists.h"
#include "support/Names.h"
#include "support/OptionValues.h"
#include "support/Options.h"
#include "tools/commands/Command.h"
#include "tools/commands/OutOption.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>
#include <new>
#include <string>
#include <vector>

using namespace tessera;

namespace {

// Exit status of wrong usage; a failed command exits with 1.
constexpr int usageError = 2;

int report(const std::string &message, const std::string &hint, int code) {
  std::fprintf(stderr, "tessera: error: %s\n", message.c_str());
  if (!hint.empty())
    std::fprintf(stderr, "HINT: %s\n", hint.c_str());
  return code;
}

// Returns the long ("--emit") or the short ("-D") option names of a command.
std::vector<std::string> optionNames(const CLI::App &app) {
  std::vector<std::string> names;
  for (const CLI::Option *option : app.get_options()) {
    for (const std::string &name : option->get_lnames())
      names.push_back("--" + name);
    for (const std::string &name : option->get_snames())
      names.push_back("-" + name);
  }
  return names;
}

std::vector<std::string> verbNames(const CLI::App &app) {
  return namesOf(app.get_subcommands({}),
                 [](const CLI::App *verb) { return verb->get_name(); });
}

// Returns the command that the parser had reached before it failed.
const CLI::App *deepest(const CLI::App *app,
                        const std::vector<std::string> &arguments) {
  for (const std::string &argument : arguments) {
    const CLI::App *next = nullptr;
    for (const CLI::App *verb : app->get_subcommands({}))
      if (verb->get_name() == argument)
        next = verb;
    if (!next)
      break;
    app = next;
  }
  return app;
}

// Returns a command with its parent verbs: "tessera data prepare".
std::string pathOf(const CLI::App &command) {
  const CLI::App *parent = command.get_parent();
  return parent ? pathOf(*parent) + " " + command.get_name() : "tessera";
}

int reportUsage(const CLI::App &app, const CLI::ParseError &error,
                const std::vector<std::string> &arguments) {
  const CLI::App *command = deepest(&app, arguments);
  const std::string name = command == &app ? "tessera" : command->get_name();
  const std::vector<std::string> options = optionNames(*command);
  const std::vector<std::string> verbs = verbNames(*command);
  const std::string help = "see " + pathOf(*command) + " --help";
  for (const std::string &argument : arguments) {
    // -5 is a misplaced value, for which the parser's message is correct.
    if (argument.size() < 2 || argument[0] != '-' ||
        argument.find_first_of("0123456789.") == 1)
      continue;
    const std::string option = argument.substr(0, argument.find('='));
    const bool known =
        std::any_of(options.begin(), options.end(), [&](const std::string &o) {
          return o == option || (o.size() == 2 && option.rfind(o, 0) == 0);
        });
    if (known)
      continue;
    std::string near = nearestName(option, options);
    return report("`" + name + "` has no option " + option,
                  near.empty() ? help : "did you mean `" + near + "`?",
                  usageError);
  }
  if (!verbs.empty())
    for (const std::string &argument : arguments) {
      if (argument == command->get_name() ||
          std::find(verbs.begin(), verbs.end(), argument) != verbs.end())
        continue;
      return report("`" + name + "` has no verb `" + argument + "`",
                    nearestNameHint(argument, verbs, "verbs"), usageError);
    }
  return report(error.what(), help, usageError);
}

std::string footer() {
  std::string text = "First steps:\n"
                     "  tessera train --config configs/quickstart.yaml\n"
                     "  tessera compile kernels/nsa/window_fwd.py --instance "
                     "window_fwd_d64_f32 -o out\n"
                     "  tessera help VERB\n\nEnvironment:\n";
  for (const OptionInfo &info : optionTable())
    text += "  " + std::string(info.name) + "\n      " + info.doc + "\n";
  return text;
}

std::vector<tools::Command> addVerbs(CLI::App &app) {
  std::vector<tools::Command> commands = {
      tools::addCompile(app), tools::addCheck(app),     tools::addNew(app),
      tools::addReplay(app),  tools::addReport(app),    tools::addRecord(app),
      tools::addPack(app),    tools::addPackCases(app), tools::addData(app),
      tools::addDiff(app),    tools::addRun(app),       tools::addDoctor(app),
      tools::addCache(app),   tools::addLayout(app),    tools::addInspect(app),
      tools::addAnalyze(app), tools::addDebug(app),     tools::addTune(app),
      tools::addVersion(app), tools::addPreflight(app), tools::addWatch(app),
      tools::addLsp(app),     tools::addProfile(app)};
  // Adds the verbs for --help only; tessera-train runs them.
  for (const tools::TrainVerb &verb : tools::trainVerbs())
    app.add_subcommand(verb.name, verb.help);
  app.add_subcommand("help", "Print the help of a verb: tessera help compile");
  app.add_flag("--version", [](int64_t) {}, "The same as `tessera version`");
  return commands;
}

// Implements tessera help [VERB [VERB]].
int printHelp(const CLI::App *app, const std::vector<std::string> &words) {
  for (const std::string &word : words) {
    const std::vector<std::string> verbs = verbNames(*app);
    if (std::find(verbs.begin(), verbs.end(), word) == verbs.end())
      return report("`" + app->get_name() + "` has no verb `" + word + "`",
                    verbs.empty() ? "see tessera help " + app->get_name()
                                  : nearestNameHint(word, verbs, "verbs"),
                    usageError);
    app = app->get_subcommand(word);
  }
  std::fputs(app->help().c_str(), stdout);
  return 0;
}

bool isTrainVerb(const std::string &word) {
  const std::vector<tools::TrainVerb> &verbs = tools::trainVerbs();
  return std::any_of(verbs.begin(), verbs.end(),
                     [&](const auto &verb) { return word == verb.name; });
}

int run(std::vector<std::string> arguments) {
  warnUnknownOptions();
  const bool help = !arguments.empty() && arguments[0] == "help";
  if (help && arguments.size() > 1 && isTrainVerb(arguments[1])) {
    arguments.erase(arguments.begin());
    arguments.push_back("--help");
  }
  if (!arguments.empty() && isTrainVerb(arguments[0]))
    return tools::execTrain(arguments);
  if (!arguments.empty() && arguments[0] == "--version")
    arguments[0] = "version";

  CLI::App app{"tessera compiles tile kernels written in Python syntax to "
               "native code, and trains language models on them.",
               "tessera"};
  app.require_subcommand(1);
  app.fallthrough(false);
  app.formatter(std::make_shared<tools::OneSpelling>());
  const std::vector<tools::Command> commands = addVerbs(app);
  app.footer(footer());
  if (arguments.empty()) {
    std::fputs(app.help().c_str(), stderr);
    return usageError;
  }
  if (help)
    return printHelp(&app, {arguments.begin() + 1, arguments.end()});
  try {
    // CLI11 takes arguments in reverse order. The words after `record --` are a
    // command, which prefix_command() recognizes without the dashes.
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    if (arguments[0] == "record")
      if (auto dashes = std::find(arguments.begin(), arguments.end(), "--");
          dashes != arguments.end())
        reversed.erase(reversed.end() - 1 - (dashes - arguments.begin()));
    app.parse(reversed);
  } catch (const CLI::CallForHelp &) {
    std::fputs(deepest(&app, arguments)->help().c_str(), stdout);
    return 0;
  } catch (const CLI::CallForAllHelp &) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (const CLI::ParseError &error) {
    return reportUsage(app, error, arguments);
  }
  checkOptionValues();
  for (const tools::Command &command : commands)
    if (command.app->parsed())
      return command.run();
  return usageError;
}

} // namespace

int main(int argc, char **argv) {
  // A write past the limit of file sizes (ulimit -f) fails with a message. By
  // default the signal would end the process. Child processes get the default
  // again, because a handler does not survive exec.
  std::signal(SIGXFSZ, [](int) {});
  try {
    return run({argv + 1, argv + argc});
  } catch (const CompileError &error) {
    std::fputs(error.what(), stderr);
    return 1;
  } catch (const std::bad_alloc &) {
    return report("there is not enough memory",
                  "make the largest size that you gave smaller, or raise the "
                  "limit (ulimit -v)",
                  1);
  } catch (const std::exception &error) {
    return report(error.what(), "", 1);
  }
}
