// runtime/launch/KernelRequest.cpp - the compile request of a launch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/KernelState.h"

#include "language/CudaSource.h"
#include "language/Expand.h"
#include "support/Options.h"

namespace tessera {

using language::Value;
using runtime::Configuration;
using runtime::launchDevice;

language::Actual runtime::toActual(const Arg &arg) {
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

// Returns a constexpr of CUDA C++ as the definition -DNAME=text.
static language::Argument definition(const std::string &name,
                                     const Value &value) {
  language::Argument argument;
  argument.name = name;
  const bool *flag = value.get<bool>();
  const auto *text = value.get<std::string>();
  argument.value = Value(flag   ? std::string(*flag ? "1" : "0")
                         : text ? *text
                                : value.repr());
  return argument;
}

language::CompileRequest
Kernel::State::request(std::span<const Arg> args, const Constexprs &constexprs,
                       const LaunchOptions &options) const {
  const runtime::LaunchDevice &device = launchDevice(options);
  requireGpu(device);
  const Defaults usual = defaultsFor(device, args, constexprs, options);
  const Configuration all = configure(usual, args, constexprs);
  language::CompileRequest request = base;
  request.target = device.target();
  // The device executes PTX, so a cubin would waste time and require ptxas.
  if (device.readsPtx())
    request.assembler = "none";
  request.options.numWarps = options.numWarps.value_or(usual.numWarps);
  request.options.numStages = options.numStages.value_or(usual.numStages);
  request.options.swapAb = info.hints.swapAb;
  request.options.constantInputs = info.hints.constantInputs;
  request.options.wideGrid = options.wideGrid && !device.isCpu();
  if (isCuda()) {
    for (const auto &[constexpr_, value] : all)
      request.args.push_back(definition(constexpr_, value));
    return request;
  }
  size_t next = 0;
  for (const language::KernelParameter &parameter : info.signature.parameters) {
    if (!parameter.isConstexpr) {
      request.args.push_back(
          language::specialize(parameter, runtime::toActual(args[next++])));
      continue;
    }
    language::Argument argument;
    argument.name = parameter.name;
    argument.value = all.at(parameter.name);
    request.args.push_back(std::move(argument));
  }
  language::addFunctions(*program, request);
  request.options.debug = info.debug || optionNumber(Option::Debug) != 0;
  request.options.f32Default = optionText(Option::F32Default);
  if (request.options.f32Default != "tf32" &&
      request.options.f32Default != "ieee")
    throw Error("TESSERA_F32_DEFAULT=" + request.options.f32Default +
                    " is not a precision",
                "set it to tf32 or ieee");
  return request;
}

} // namespace tessera
