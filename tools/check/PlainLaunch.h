// tools/check/PlainLaunch.h - a launch that the command line alone describes.
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
  Shape shape; // the tensors, and every integer by its name
  std::map<std::string, Arg> scalars;
};

// Returns the value of `text`, which --arg gives for `name`. Throws Error for
// text that is not an expression of constants.
language::Value argumentValue(const Description &kernel,
                              const std::string &name, const std::string &text);

// Whether an argument of the command line is NAME=TYPE[SIZES].
bool namesTensor(const std::string &argument);

// Of arguments NAME=VALUE. Parameters with defaults may be left out, constexprs
// where a configuration or heuristic has them. Throws Error for what is missing
// or unknown, and what does not fit its parameter.
PlainLaunch plainLaunch(const Description &kernel,
                        const std::vector<std::string> &arguments);

} // namespace tessera::tools
