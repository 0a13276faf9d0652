// runtime/tune/KernelKey.cpp - from launches to the keys of tables.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/tune/KernelKey.h"

#include "runtime/launch/FindFile.h"
#include "runtime/launch/KernelState.h"
#include "support/Hash.h"

#include <filesystem>

namespace tessera::tune {

std::string kernelName(const std::string &file, const std::string &function) {
  const std::string ours = runtime::nameAmongOurs(file);
  return (ours.empty() ? std::filesystem::path(file).filename().string()
                       : ours) +
         ":" + function;
}

std::string textHash(const std::string &text) {
  return sha256Hex(text).substr(0, 32);
}

TuneKey makeKey(const Kernel::State &kernel, std::span<const Arg> args,
                const Constexprs &constexprs, int64_t sequence) {
  kernel.checkCount(args.size());
  TuneKey key;
  const auto &[name, hash] = kernel.tuneName();
  key.kernel = name;
  key.textHash = hash;
  for (const Arg &arg : args)
    if (const Pointer *pointer = std::get_if<Pointer>(&arg))
      key.dtypes.push_back(dtypeName(pointer->type));
    else if (std::holds_alternative<std::nullptr_t>(arg))
      key.dtypes.push_back("none");
  key.constexprs = constexprs;
  // They follow from the others.
  for (const syntax::Heuristic &heuristic : kernel.info.heuristics)
    key.constexprs.erase(heuristic.parameter);
  key.bucket = bucketOf(sequence);
  return key;
}

} // namespace tessera::tune

namespace tessera {

const std::pair<std::string, std::string> &Kernel::State::tuneName() const {
  std::call_once(named, [&] {
    names.first = tune::kernelName(base.file, name);
    names.second = tune::textHash(base.text);
  });
  return names;
}

tune::TuneKey Kernel::tuneKey(const std::vector<Arg> &args,
                              const Constexprs &constexprs,
                              const LaunchOptions &options) const {
  return tune::makeKey(*state, args, constexprs, options.sequence);
}

} // namespace tessera
