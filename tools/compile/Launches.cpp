// tools/compile/Launches.cpp - lists the launches of a training run or of a
// pattern's attention.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/Launches.h"

#include "runtime/launch/FindFile.h"
#include "support/Error.h"
#include "support/GpuTarget.h"
#include "support/Json.h"
#include "support/Options.h"
#include "support/Process.h"

#include <chrono>

namespace tessera::tools {

namespace {

std::string assignment(Option option, const std::string &value) {
  return std::string(optionInfo(option).name) + "=" + value;
}

} // namespace

std::vector<std::string> LaunchSource::arguments() const {
  std::vector<std::string> all =
      config.empty()
          ? std::vector<std::string>{"--attention-only", "attention=" + pattern}
          : std::vector<std::string>{"--config", config};
  all.insert(all.end(), settings.begin(), settings.end());
  return all;
}

LaunchSource launchSource(const std::string &config,
                          const std::vector<std::string> &words) {
  LaunchSource source{config, {}, words};
  if (config.empty() && !words.empty() && words[0].ends_with(".py")) {
    source.pattern = runtime::findTypedFile(words[0]);
    source.settings.erase(source.settings.begin());
  }
  return source;
}

std::vector<language::CompileRequest> listLaunches(const LaunchSource &source,
                                                   const std::string &target,
                                                   const std::string &table) {
  const bool gpu = GpuTarget::looksLike(target);
  std::vector<std::string> command = {executablePath().string(), "train",
                                      "--list-kernels"};
  for (const std::string &word : source.arguments())
    command.push_back(word);
  if (gpu)
    command.push_back("runtime.device=auto");
  const CommandResult listed =
      runCommand(command, std::chrono::minutes(30),
                 {assignment(Option::Device, gpu ? "sim:" + target : "cpu"),
                  assignment(Option::Target, gpu ? "" : target),
                  assignment(Option::Tuned, table),
                  assignment(Option::Pack, ""), assignment(Option::Record, ""),
                  assignment(Option::LogLevel, "warning")});
  if (!listed.status.ok())
    throw Error(
        "the kernels of " + source.name() + " for " + target +
            " cannot be listed: " +
            (listed.errors.empty() ? listed.status.text() : listed.errors),
        source.config.empty()
            ? "give sizes as settings of a training run: "
              "model.n_heads=8 train.seq_len=4096"
            : "try: tessera train --config " + source.config + " --dry-run");
  std::vector<language::CompileRequest> requests;
  for (const Json &text : parseJson(listed.output, "tessera-train's list")) {
    requests.push_back(
        language::CompileRequest::fromJson(text.get<std::string>()));
    // The simulator does not need an assembler.
    requests.back().assembler.clear();
  }
  if (requests.empty())
    throw Error(source.name() + " launches no compiled kernels",
                "train with kernels: tessera");
  return requests;
}

} // namespace tessera::tools
