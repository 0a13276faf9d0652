// runtime/launch/LaunchArguments.cpp - converts the arguments of a launch to
// its key and to the properties that specialization uses.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/KernelState.h"

namespace tessera {

namespace runtime {

void addConstexprs(LaunchKey &key, const Constexprs &constexprs) {
  for (const auto &[name, value] : constexprs)
    key.addConstexpr(name, value);
}

language::Actual toActual(const Arg &arg) {
  return std::visit(
      [](const auto &held) -> language::Actual {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, Pointer>)
          return language::PointerValue{
              dtypeName(held.type), reinterpret_cast<uintptr_t>(held.address)};
        else if constexpr (std::is_same_v<T, std::nullptr_t>)
          return language::Value();
        else
          return language::Value(held);
      },
      arg);
}

} // namespace runtime

void Kernel::State::beginKey(runtime::LaunchKey &key,
                             const runtime::LaunchDevice &device,
                             std::span<const Arg> args,
                             const LaunchOptions &options, bool values) const {
  if (args.size() != parameters.size())
    checkCount(args.size());
  const auto &[numWarps, numStages, handle, stream, wideGrid, sequence, tuned] =
      options;
  // The key contains the device instead of the handle. Code does not depend on
  // the stream.
  static_cast<void>(handle), static_cast<void>(stream);
  // These only affect the configuration's tag.
  static_cast<void>(sequence), static_cast<void>(tuned);
  const uint64_t tag = runtime::configurationTag(device, options);
  key.add(uint64_t(device.number) << 32 | uint64_t(tag != 0) << 4 |
          uint64_t(wideGrid && !device.isCpu()) << 3 | uint64_t(values) << 2 |
          uint64_t(numWarps.has_value()) << 1 |
          uint64_t(numStages.has_value()));
  if (numWarps)
    key.add(uint64_t(*numWarps));
  if (numStages)
    key.add(uint64_t(*numStages));
  if (tag)
    key.add(tag);
  key.addClasses(args, unspecialized.get());
  if (values)
    key.addValues(args);
}

} // namespace tessera
