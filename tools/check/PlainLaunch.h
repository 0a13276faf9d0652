// tools/check/PlainLaunch.h - builds a launch from the command line alone.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// For kernel files without `# tessera:` lines: `X=fp32[100, 64]` is a tensor,
// `N=100` a number, `BLOCK=64`, `ACT="relu"`, `T=tl.float16` are constexprs.
#pragma once

#include "tools/check/Problem.h"

namespace tessera::tools {

struct PlainLaunch {
  language::Instance instance;
  Shape shape; // tensors, and integers by name
  std::map<std::string, Arg> scalars;
};

// Returns the value of `text`, which --arg gives for `name`. Throws Error for
// text that is not an expression of constants.
language::Value argumentValue(const Description &kernel,
                              const std::string &name, const std::string &text);

// True if an argument of the command line is NAME=TYPE[SIZES].
bool namesTensor(const std::string &argument);

// Builds a launch from arguments NAME=VALUE. Parameters with defaults may be
// omitted, and constexprs that a configuration or heuristic sets. Throws Error
// for a missing or unknown argument, or one that does not fit its parameter.
PlainLaunch plainLaunch(const Description &kernel,
                        const std::vector<std::string> &arguments);

} // namespace tessera::tools
