// runtime/tune/KernelKey.h - from launches to the keys of tables.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Kernel.h"
#include "runtime/tune/TuneTable.h"

#include <span>
#include <string>
#include <vector>

namespace tessera::tune {

// TuneKey::kernel of a function of an existing file.
std::string kernelName(const std::string &file, const std::string &function);

// TuneKey::textHash of a request's text, which is without comments and
// docstrings.
std::string textHash(const std::string &text);

// Throws Error for a wrong number of arguments.
TuneKey makeKey(const Kernel::State &kernel, std::span<const Arg> args,
                const Constexprs &constexprs, int64_t sequence);

} // namespace tessera::tune
