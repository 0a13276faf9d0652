// tools/compile/Launches.h - what a training run, or the attention of a
// pattern, launches.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Request.h"

#include <string>
#include <vector>

namespace tessera::tools {

// A training run, or the op tessera::attention with a pattern.
struct LaunchSource {
  std::string config; // of a training run; empty: there is a pattern
  std::string pattern;
  std::vector<std::string> settings; // key=value

  // What a user calls it: the file.
  const std::string &name() const { return config.empty() ? pattern : config; }
  // Arguments of `tessera train`.
  std::vector<std::string> arguments() const;
};

// The source that --config and further words of a command line name: settings
// of the run, or FILE.py and settings. Neither has a name: the words are
// something else.
LaunchSource launchSource(const std::string &config,
                          const std::vector<std::string> &words);

// Returns the launches on a target with the table of that path, or "none"; the
// training program lists them. Throws Error if the launch does not exist.
std::vector<language::CompileRequest> listLaunches(const LaunchSource &source,
                                                   const std::string &target,
                                                   const std::string &table);

} // namespace tessera::tools
