// ops/launch/ConstexprText.h - parses constexprs of a launch from text.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Kernel.h"

#include <string_view>

namespace tessera::runtime {

// `BLOCK=64, EPS=1e-5, CAUSAL=True, ACT="relu", TYPE=tl.float32, BIAS=None`:
// expressions as in Python, which may use `tl`. MASK=causal_mask is a function
// of the kernel's file, S={"G": 4, "rows.0": 1} the values S.G and S.rows.0 of
// a tuple. Throws c10::ValueError that begins with tessera::OP.
Constexprs parseConstexprs(const char *op, std::string_view text);

// Moves `num_warps` and `num_stages` from the constexprs to the launch options.
// Throws c10::ValueError for invalid values.
LaunchOptions takeOptions(const char *op, Constexprs &constexprs);

} // namespace tessera::runtime
