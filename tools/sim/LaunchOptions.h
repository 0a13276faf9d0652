// tools/sim/LaunchOptions.h - opens a launch for `analyze` and `debug` on the
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
  std::string target = "sm_80"; // of a case without PTX
  std::string kernel, grid = "1", block;
  std::vector<std::string> args;
  std::optional<uint32_t> shared;
  int64_t timeout = 600; // seconds, for runWithin() (TimedRun.h)
  // Changes a case before its kernel is compiled; a PTX file of the case is not
  // used then.
  std::function<void(cases::LoadedCase &)> edit;
};

// Adds the options that both verbs share. `launchHelp` is their text for
// --help.
void addLaunchOptions(CLI::App &verb, LaunchOptions &options);
extern const char *const launchHelp;

// A launch with all data that it refers to.
struct OpenedLaunch {
  std::deque<std::vector<uint8_t>> buffers; // of --arg
  std::optional<cases::LoadedCase> recorded;
  cases::CaseMemory memory; // of the case
  std::optional<cases::SimLaunch> launch;
  bool compiled = false;    // compiled from the case's kernel, without PTX
  bool sharedGiven = false; // false: all of an SM's memory
};
std::unique_ptr<OpenedLaunch> openLaunch(const LaunchOptions &options);

// Reads "4", "4,2" or "4,2,1". Throws Error, which names `what`.
sim::Dim3 dimensions(const std::string &text, const std::string &what);

} // namespace tessera::tools
