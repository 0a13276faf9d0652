// tools/commands/Command.h - the verbs of `tessera`, one file for each.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
} // namespace CLI

namespace tessera::tools {

// A verb that this program parses: its subcommand, and the function that runs
// it.
struct Command {
  CLI::App *app = nullptr;
  std::function<int()> run;
};

Command addCompile(CLI::App &app);
Command addCheck(CLI::App &app);
Command addNew(CLI::App &app);
Command addDiff(CLI::App &app);
Command addRun(CLI::App &app);
Command addDoctor(CLI::App &app);
Command addCache(CLI::App &app);
Command addInspect(CLI::App &app);
Command addLayout(CLI::App &app);
Command addLsp(CLI::App &app);
Command addAnalyze(CLI::App &app);
Command addDebug(CLI::App &app);
Command addData(CLI::App &app);
Command addReplay(CLI::App &app);
Command addReport(CLI::App &app);
Command addRecord(CLI::App &app);
Command addPack(CLI::App &app);
Command addPackCases(CLI::App &app);
Command addTune(CLI::App &app);
Command addVersion(CLI::App &app);
Command addPreflight(CLI::App &app);
Command addProfile(CLI::App &app);
Command addWatch(CLI::App &app);

// Name and one-line help of a verb that tessera-train runs, because it needs
// LibTorch.
struct TrainVerb {
  const char *name;
  const char *help;
};
const std::vector<TrainVerb> &trainVerbs();
// Replaces this process by tessera-train with these arguments, verb first.
// Throws Error as findTrainProgram() does.
int execTrain(const std::vector<std::string> &arguments);

} // namespace tessera::tools
