// tools/sim/LaunchOptions.h - what `analyze` and `debug` launch on the
// simulator: PTX with arguments from the command line, or a recorded case.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "replay/SimLaunch.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera::tools {

struct LaunchOptions {
  std::string file;             // PTX, or the folder of a case
  std::string ptx;              // of a case
  std::string target = "sm_80"; // what a case without PTX is compiled for
  std::string kernel, grid = "1", block;
  std::vector<std::string> args;
  std::optional<uint32_t> shared;
  // Changes a case before its kernel is compiled; PTX is not asked for then.
  std::function<void(cases::LoadedCase &)> edit;
};

// The options that both verbs have, and the words of --help on them.
void addLaunchOptions(CLI::App &verb, LaunchOptions &options);
extern const char *const launchHelp;

// A launch with all that it points to.
struct OpenedLaunch {
  std::deque<std::vector<uint8_t>> buffers; // of --arg
  std::optional<cases::LoadedCase> recorded;
  cases::CaseMemory memory; // of the case
  std::optional<cases::SimLaunch> launch;
  bool compiled = false;    // the case's kernel, for no PTX was there
  bool sharedGiven = false; // else the kernel has all of an SM's
};
std::unique_ptr<OpenedLaunch> openLaunch(const LaunchOptions &options);

// "4", "4,2" or "4,2,1"; throws Error that names `what`.
sim::Dim3 dimensions(const std::string &text, const std::string &what);

} // namespace tessera::tools
