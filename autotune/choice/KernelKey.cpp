// autotune/choice/KernelKey.cpp - computes the table key of a launch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/choice/KernelKey.h"

#include "runtime/launch/KernelState.h"

namespace tessera::tune {

TuneKey makeKey(const Kernel::State &kernel, std::span<const Arg> args,
                const Constexprs &constexprs, int64_t sequence) {
  kernel.checkCount(args.size());
  TuneKey key;
  key.kernel = kernel.nameAndHash().first;
  key.textHash = kernel.textHash(constexprs);
  for (const Arg &arg : args)
    if (const Pointer *pointer = std::get_if<Pointer>(&arg))
      key.dtypes.push_back(dtypeName(pointer->type));
    else if (std::holds_alternative<std::nullptr_t>(arg))
      key.dtypes.push_back("none");
  key.constexprs = constexprs;
  // Heuristics are functions of the other values, so the key omits them.
  for (const language::Heuristic &heuristic : kernel.info.heuristics)
    key.constexprs.erase(heuristic.parameter);
  key.bucket = bucketOf(sequence);
  return key;
}

TuneKey makeKey(const Kernel &kernel, std::span<const Arg> args,
                const Constexprs &constexprs, const LaunchOptions &options) {
  return makeKey(kernel.internals(), args, constexprs, options.sequence);
}

} // namespace tessera::tune
