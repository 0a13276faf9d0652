// runtime/launch/KernelState.cpp - specialization: from arguments to code.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/KernelState.h"

#include "compiler/syntax/CudaSource.h"
#include "compiler/syntax/Expand.h"
#include "runtime/device/cpu/CpuKernel.h"
#include "runtime/device/cuda/CudaKernel.h"
#include "runtime/device/sim/SimKernel.h"
#include "support/Error.h"
#include "support/Names.h"
#include "support/Options.h"

#include <algorithm>
#include <bit>
#include <mutex>

namespace tessera {

using runtime::CompileService;
using runtime::Configuration;
using runtime::launchDevice;
using runtime::LoadedKernel;
using runtime::targetOf;
using syntax::Value;

namespace runtime {

std::shared_ptr<LoadedKernel>
loadKernel(const LaunchDevice &device, const CompiledKernel &compiled,
           const std::string &kernel,
           const std::vector<std::string> &parameters) {
  if (device.isCpu())
    return loadCpuKernel(compiled, kernel, parameters);
  if (device.type == DeviceType::Cuda)
    return loadCudaKernel(compiled, kernel, parameters);
  return loadSimKernel(device, compiled, kernel, parameters);
}

Value toValue(const ConstexprValue &value) {
  return std::visit(
      [](const auto &held) -> Value {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, std::nullptr_t>)
          return Value();
        else if constexpr (std::is_same_v<T, DType>)
          return Value(Value::DType{dtypeName(held)});
        else
          return Value(held);
      },
      value);
}

ConstexprValue fromValue(const std::string &name, const Value &value) {
  if (value.isNone())
    return nullptr;
  if (const bool *flag = value.get<bool>())
    return *flag;
  if (const auto *number = value.get<syntax::Int>();
      number && *number >= INT64_MIN && *number <= INT64_MAX)
    return int64_t(*number);
  if (const double *number = value.get<double>())
    return *number;
  if (const std::string *text = value.get<std::string>())
    return *text;
  if (const auto *type = value.get<Value::DType>())
    if (auto known = dtypeFromText(type->name))
      return *known;
  throw Error("constexpr `" + name + "` is " + value.repr() +
                  ", which a launch cannot pass on",
              "use a number, a boolean, a string, a dtype or None");
}

std::atomic<uint64_t> &memoryHitCounter() {
  static std::atomic<uint64_t> counter{0};
  return counter;
}

} // namespace runtime

Kernel::State::State(std::shared_ptr<const syntax::Program> given,
                     const std::string &kernel)
    : program(std::move(given)),
      info(syntax::describeKernel(*program, program->kernel(kernel))),
      name(kernel), base(syntax::makeRequest(*program, kernel)) {
  for (const syntax::KernelParameter &parameter : info.signature.parameters)
    if (!parameter.isConstexpr) {
      parameters.push_back(parameter.name);
      runtimeParameters.push_back(&parameter);
    }
  const auto take = [](Defaults &defaults, const Value::Config &config) {
    for (const auto &[constexpr_, value] : config.constexprs)
      defaults.constexprs[constexpr_] = value;
    defaults.numWarps = config.numWarps.value_or(defaults.numWarps);
    defaults.numStages = config.numStages.value_or(defaults.numStages);
  };
  gpu.numStages = info.hints.stages.value_or(3); // 3: Triton's
  const auto &hints = info.hints.cpuConfigs;
  if (!hints.empty())
    take(cpu, hints[0]);
  else if (!info.configs.empty())
    take(cpu, info.configs[0]);
  if (!info.configs.empty())
    take(gpu, info.configs[0]);
  else
    gpu.constexprs = cpu.constexprs; // tiles, but not its warps and stages
}

Kernel::State::State(const std::string &path, const std::string &text,
                     const std::string &kernel)
    : name(kernel),
      base(syntax::makeCudaRequest(path, text, kernel, {}, "sm_80")) {
  info.signature.kernel = kernel;
  for (const syntax::Argument &argument : base.args) {
    syntax::KernelParameter parameter;
    parameter.name = argument.name;
    parameter.doNotSpecialize = true;
    info.signature.parameters.push_back(std::move(parameter));
    parameters.push_back(argument.name);
  }
  for (const syntax::KernelParameter &parameter : info.signature.parameters)
    runtimeParameters.push_back(&parameter);
}

void Kernel::State::requireGpu(const runtime::LaunchDevice &device) const {
  if (isCuda() && device.isCpu())
    throw Error("`" + name + "` of " + base.file +
                    " is CUDA C++, which the cpu does not run",
                "launch it on a simulated GPU: TESSERA_DEVICE=sim:sm_80");
}

static bool fitsInt32(int64_t value) {
  return value >= INT32_MIN && value <= INT32_MAX;
}

static bool aligned(const Pointer &pointer) {
  return reinterpret_cast<uintptr_t>(pointer.address) % 16 == 0;
}

static syntax::Actual toActual(const Arg &arg) {
  return std::visit(
      [](const auto &held) -> syntax::Actual {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, Pointer>)
          return syntax::PointerValue{
              dtypeName(held.type), reinterpret_cast<uintptr_t>(held.address)};
        else if constexpr (std::is_same_v<T, std::nullptr_t>)
          return Value();
        else
          return Value(held);
      },
      arg);
}

// What a heuristic's lambda sees of an argument. Of a pointer it can ask the
// type and whether it is there.
static Value toHeuristicValue(const Arg &arg) {
  if (const Pointer *pointer = std::get_if<Pointer>(&arg))
    return Value(Value::DType{dtypeName(pointer->type)});
  return std::get<Value>(toActual(arg));
}

template <typename T>
static void appendRaw(std::string &key, T value) {
  key.append(reinterpret_cast<const char *>(&value), sizeof(value));
}

static void appendConstexpr(std::string &key, const std::string &name,
                            const ConstexprValue &value) {
  key += name;
  key += '\0';
  key += char(value.index());
  std::visit(
      [&](const auto &held) {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, std::string>) {
          appendRaw(key, held.size());
          key += held;
        } else if constexpr (!std::is_same_v<T, std::nullptr_t>) {
          appendRaw(key, held);
        }
      },
      value);
}

static void appendClass(std::string &key, const Arg &arg,
                        const syntax::KernelParameter &parameter) {
  if (const Pointer *pointer = std::get_if<Pointer>(&arg)) {
    key += 'p';
    key += char(pointer->type);
    key += aligned(*pointer) ? 'a' : 'u';
  } else if (const int64_t *number = std::get_if<int64_t>(&arg)) {
    if (*number == 1 && !parameter.doNotSpecialize)
      key += '1';
    else {
      key += fitsInt32(*number) ? 'i' : 'l';
      key += *number % 16 == 0 && !parameter.doNotSpecialize ? 'a' : 'u';
    }
  } else if (std::holds_alternative<double>(arg)) {
    key += 'f';
  } else if (std::holds_alternative<bool>(arg)) {
    key += 'b';
  } else {
    key += 'n';
  }
}

std::string Kernel::State::launchKey(const runtime::LaunchDevice &device,
                                     const std::vector<Arg> &args,
                                     const Constexprs &constexprs,
                                     const LaunchOptions &options) const {
  std::string key;
  key.reserve(4 * args.size() + 16 * constexprs.size() + 24);
  key += char(device.number);
  for (size_t i = 0; i < args.size(); ++i)
    appendClass(key, args[i], *runtimeParameters[i]);
  key += '|';
  for (const auto &[constexpr_, value] : constexprs)
    appendConstexpr(key, constexpr_, value);
  key += '|';
  appendRaw(key, options.numWarps.value_or(-1));
  appendRaw(key, options.numStages.value_or(-1));
  key += options.wideGrid && !device.isCpu() ? 'w' : 'n';
  return key;
}

void Kernel::State::checkCount(const std::vector<Arg> &args) const {
  if (args.size() == parameters.size())
    return;
  std::string list;
  for (const std::string &parameter : parameters)
    list += (list.empty() ? "" : ", ") + parameter;
  throw Error("kernel `" + name + "` takes " +
                  std::to_string(parameters.size()) + " arguments, not " +
                  std::to_string(args.size()),
              "pass, in this order: " + list);
}

Configuration Kernel::State::configure(const runtime::LaunchDevice &device,
                                       const std::vector<Arg> &args,
                                       const Constexprs &given) const {
  checkCount(args);
  Configuration result;
  if (isCuda()) {
    for (const auto &[constexpr_, value] : given)
      result[constexpr_] = runtime::toValue(value);
    return result;
  }
  std::vector<std::string> known;
  for (const syntax::KernelParameter &parameter : info.signature.parameters)
    if (parameter.isConstexpr) {
      known.push_back(parameter.name);
      if (parameter.hasDefault)
        result[parameter.name] = parameter.defaultValue;
    }
  for (const auto &[constexpr_, value] : defaults(device).constexprs)
    result[constexpr_] = value;
  for (const auto &[constexpr_, value] : given) {
    if (std::find(known.begin(), known.end(), constexpr_) == known.end())
      throw Error("kernel `" + name + "` has no constexpr `" + constexpr_ + "`",
                  nearestNameHint(constexpr_, known, "constexprs"));
    result[constexpr_] = runtime::toValue(value);
  }
  for (const syntax::Heuristic &heuristic : info.heuristics) {
    // What the caller says outright stays.
    if (given.count(heuristic.parameter))
      continue;
    std::vector<std::pair<std::string, Value>> seen;
    for (size_t i = 0; i < args.size(); ++i)
      seen.emplace_back(parameters[i], toHeuristicValue(args[i]));
    for (const auto &[other, value] : result)
      seen.emplace_back(other, value);
    result[heuristic.parameter] = syntax::applyHeuristic(info, heuristic, seen);
  }
  for (const std::string &constexpr_ : known)
    if (!result.count(constexpr_))
      throw Error("kernel `" + name + "` needs a value for the constexpr `" +
                      constexpr_ + "`",
                  info.unreadConfigs.empty()
                      ? "pass it, or give the kernel a default, a "
                        "configuration or a heuristic for it"
                      : "pass it: the configurations of @triton.autotune are "
                        "computed by code around the kernel, which is not "
                        "run (" +
                            info.unreadConfigs + ")");
  return result;
}

Constexprs Kernel::State::keyConstexprs(const runtime::LaunchDevice &device,
                                        const std::vector<Arg> &args,
                                        const Constexprs &given) const {
  Constexprs result = given;
  if (info.heuristics.empty())
    return result;
  const Configuration all = configure(device, args, given);
  for (const syntax::Heuristic &heuristic : info.heuristics)
    result[heuristic.parameter] =
        runtime::fromValue(heuristic.parameter, all.at(heuristic.parameter));
  return result;
}

// A constexpr of CUDA C++: -DNAME=text.
static syntax::Argument definition(const std::string &name,
                                   const Value &value) {
  syntax::Argument argument;
  argument.name = name;
  const bool *flag = value.get<bool>();
  const auto *text = value.get<std::string>();
  argument.value = Value(flag   ? std::string(*flag ? "1" : "0")
                         : text ? *text
                                : value.repr());
  return argument;
}

syntax::CompileRequest
Kernel::State::request(const std::vector<Arg> &args,
                       const Constexprs &constexprs,
                       const LaunchOptions &options) const {
  const runtime::LaunchDevice &device = launchDevice(options);
  requireGpu(device);
  const Configuration all = configure(device, args, constexprs);
  const Defaults &usual = defaults(device);
  syntax::CompileRequest request = base;
  request.target = targetOf(device);
  // The simulator runs PTX: no time for a cubin, and no need of a ptxas.
  if (device.type == runtime::DeviceType::Simulator)
    request.assembler = "none";
  request.options.numWarps = options.numWarps.value_or(usual.numWarps);
  request.options.numStages = options.numStages.value_or(usual.numStages);
  request.options.swapAb = info.hints.swapAb;
  request.options.wideGrid = options.wideGrid && !device.isCpu();
  if (isCuda()) {
    for (const auto &[constexpr_, value] : all)
      request.args.push_back(definition(constexpr_, value));
    return request;
  }
  size_t next = 0;
  for (const syntax::KernelParameter &parameter : info.signature.parameters) {
    if (!parameter.isConstexpr) {
      request.args.push_back(
          syntax::specialize(parameter, toActual(args[next++])));
      continue;
    }
    syntax::Argument argument;
    argument.name = parameter.name;
    argument.value = all.at(parameter.name);
    request.args.push_back(std::move(argument));
  }
  request.options.debug = info.debug || optionNumber(Option::Debug) != 0;
  request.options.f32Default = optionText(Option::F32Default);
  if (request.options.f32Default != "tf32" &&
      request.options.f32Default != "ieee")
    throw Error("TESSERA_F32_DEFAULT=" + request.options.f32Default +
                    " is not a precision",
                "set it to tf32 or ieee");
  return request;
}

std::shared_ptr<LoadedKernel>
Kernel::State::loaded(const std::vector<Arg> &args,
                      const Constexprs &constexprs,
                      const LaunchOptions &options) {
  checkCount(args);
  const runtime::LaunchDevice &device = launchDevice(options);
  const Constexprs *effective = &constexprs;
  Constexprs computed;
  if (!info.heuristics.empty()) {
    computed = keyConstexprs(device, args, constexprs);
    effective = &computed;
  }
  std::string key = launchKey(device, args, *effective, options);
  {
    std::shared_lock<std::shared_mutex> guard(mutex);
    if (auto found = table.find(key)) {
      ++runtime::memoryHitCounter();
      return found;
    }
  }
  auto compiled =
      CompileService::instance().get(request(args, *effective, options));
  auto kernel = runtime::loadKernel(device, *compiled, name, parameters);
  std::unique_lock<std::shared_mutex> guard(mutex);
  return table.insert(std::move(key), std::move(kernel));
}

} // namespace tessera
