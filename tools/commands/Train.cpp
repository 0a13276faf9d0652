// tools/commands/Train.cpp - verbs that start tessera-train or tessera-bench.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/Command.h"

#include "support/Error.h"
#include "support/File.h"
#include "support/Text.h"
#include "tools/commands/TrainProgram.h"

#include <cerrno>
#include <cstdlib>
#include <unistd.h>

namespace tessera::tools {

const std::vector<TrainVerb> &trainVerbs() {
  static const std::vector<TrainVerb> verbs = {
      {"train", "Train a model: --config FILE [key=value ...]"},
      {"generate", "Write text with a trained model: --run FOLDER"},
      {"evaluate",
       "Score a trained model: --run FOLDER with --hellaswag FILE or "
       "--needle"},
      {"export", "Write a trained model's weights: --run FOLDER OUT.pt, or "
                 "OUT.safetensors"},
      {"config", "List the settings of a training run with their values"},
      {"bench", "Measure on this machine, or count on a simulated GPU: fwd, "
                "bwd, stages, decode, step, launch, cold"},
  };
  return verbs;
}

int execTrain(const std::vector<std::string> &arguments) {
  const bool bench = arguments.at(0) == "bench"; // a program of its own
  const TrainProgram program =
      findTrainProgram(bench ? "tessera-bench" : "tessera-train");
  std::vector<std::string> texts = {program.path.string()};
  texts.insert(texts.end(), arguments.begin() + bench, arguments.end());
  std::vector<char *> argv;
  for (std::string &text : texts)
    argv.push_back(text.data());
  argv.push_back(nullptr);
  for (const std::string &setting : program.environment)
    if (const auto variable = nameAndValueOf(setting))
      ::setenv(variable->first.c_str(), variable->second.c_str(), 1);
  ::execv(program.path.c_str(), argv.data());
  throw Error("cannot start " + program.path.string() + ": " + errnoText(errno),
              "check that the file is executable");
}

} // namespace tessera::tools
