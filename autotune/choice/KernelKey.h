// autotune/choice/KernelKey.h - computes the table key of a launch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/table/TuneTable.h"
#include "runtime/Kernel.h"

#include <span>
#include <string>
#include <vector>

namespace tessera::tune {

// Returns the key under which tables store such a launch. Throws Error for a
// wrong number of arguments.
TuneKey makeKey(const Kernel::State &kernel, std::span<const Arg> args,
                const Constexprs &constexprs, int64_t sequence);

TuneKey makeKey(const Kernel &kernel, std::span<const Arg> args,
                const Constexprs &constexprs = {},
                const LaunchOptions &options = {});

} // namespace tessera::tune
