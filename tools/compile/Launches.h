// tools/compile/Launches.h - lists the launches of a training run or of a
// pattern's attention.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Request.h"

#include <string>
#include <vector>

namespace tessera::tools {

// A training run, or the op tessera::attention with a pattern.
struct LaunchSource {
  std::string config; // empty: a pattern
  std::string pattern;
  std::vector<std::string> settings; // key=value

  // Returns the file that the user named.
  const std::string &name() const { return config.empty() ? pattern : config; }
  // Returns the arguments of `tessera train`.
  std::vector<std::string> arguments() const;
};

// Returns the source that --config and the other words of a command line name:
// settings of the run, or FILE.py and settings. If its name is empty, the words
// have another meaning.
LaunchSource launchSource(const std::string &config,
                          const std::vector<std::string> &words);

// Returns the launches on a target with the table of that path, or "none". The
// training program lists them. Throws Error if the launch does not exist.
std::vector<language::CompileRequest> listLaunches(const LaunchSource &source,
                                                   const std::string &target,
                                                   const std::string &table);

} // namespace tessera::tools
