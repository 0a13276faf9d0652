// language/Manifest.h - the kernels of a file, as JSON for tools.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Program.h"

#include <string>

namespace tessera::language {

// {"file": PATH, "kernels": [{"name", "line", "params": [{"name", "constexpr",
// "default"?, "doNotSpecialize"?, "doNotSpecializeAlignment"?}], "tuples"?:
// {NAME: {"type", "fields"}}, "configs",
// "key", "heuristics": {PARAM: TEXT}, "hints": {"cpu", "space":
// [{"values": {PARAM: [...]}, "where"?}], "stages", "swap_ab", "predicate",
// "constant_inputs"}, "instances": {NAME: {"args", "num_warps", "num_stages"}},
// "unsupported"?: [TEXT]}]}. Every jit function of the file is listed. A kernel
// whose language is not supported has "unsupported" and nothing that is
// evaluated. Throws CompileError with everything that is wrong.
std::string manifestJson(const Program &program);

} // namespace tessera::language
