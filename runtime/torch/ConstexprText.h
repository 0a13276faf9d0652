// runtime/torch/ConstexprText.h - constexprs of a launch as text.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Kernel.h"

#include <string_view>

namespace tessera::runtime {

// What a launch is given besides its arguments.
struct ConstexprText {
  Constexprs constexprs;
  LaunchOptions options; // numWarps and numStages, where the text has them
};

// `BLOCK=64, EPS=1e-5, CAUSAL=True, ACT="relu", TYPE=tl.float32, BIAS=None`:
// expressions as in Python, which may use `tl`. `num_warps` and `num_stages`
// are options of the launch. Throws c10::ValueError that begins with
// tessera::OP.
ConstexprText parseConstexprs(const char *op, std::string_view text);

} // namespace tessera::runtime
