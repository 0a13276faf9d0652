// runtime/launch/KernelState.cpp - specialization: from arguments to code.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/KernelState.h"

#include "compiler/syntax/CudaSource.h"
#include "compiler/syntax/Expand.h"
#include "compiler/syntax/ValueJson.h"
#include "support/ArgumentError.h"
#include "support/Names.h"
#include "support/Options.h"

#include <algorithm>
#include <mutex>

namespace tessera {

using runtime::CompileService;
using runtime::Configuration;
using runtime::launchDevice;
using runtime::LoadedKernel;
using syntax::Value;

namespace runtime {

Value toValue(const ConstexprValue &value) {
  return std::visit(
      [](const auto &held) -> Value {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, std::nullptr_t>)
          return Value();
        else if constexpr (std::is_same_v<T, DType>)
          return Value(Value::DType{dtypeName(held)});
        else if constexpr (std::is_same_v<T, EncodedConstexpr>)
          return syntax::valueFromJson(parseJson(held.json, "a constexpr"),
                                       "a constexpr");
        else
          return Value(held);
      },
      value);
}

// Whether ValueJson.h encodes the value.
static bool isEncodable(const Value &value) {
  if (const std::vector<Value> *items = value.sequence())
    return std::all_of(items->begin(), items->end(), isEncodable);
  return value.isNone() || value.is<bool>() || value.is<syntax::Int>() ||
         value.is<double>() || value.is<std::string>() ||
         value.is<Value::DType>();
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
  if (!value.is<Value::DType>() && isEncodable(value))
    return EncodedConstexpr{canonicalJson(syntax::toJson(value))};
  throw Error("constexpr `" + name + "` is " + value.repr() +
                  ", which a launch cannot pass on",
              "use a number, a boolean, a string, a dtype, None or a tuple");
}

std::atomic<uint64_t> &memoryHitCounter() {
  static std::atomic<uint64_t> counter{0};
  return counter;
}

// The function of that name: one that the file has not is the caller's mistake.
static const syntax::FunctionDef &kernelOf(const syntax::Program &program,
                                           const std::string &name) {
  try {
    return program.kernel(name);
  } catch (const CompileError &) {
    throw;
  } catch (const Error &wrong) {
    throw ArgumentError(wrong.message, wrong.hint);
  }
}

void addConstexprs(LaunchKey &key, const Constexprs &constexprs) {
  for (const auto &[name, value] : constexprs)
    key.addConstexpr(name, value);
}

} // namespace runtime

Kernel::State::State(std::shared_ptr<const syntax::Program> given,
                     const std::string &kernel)
    : program(std::move(given)),
      info(syntax::describeKernel(*program,
                                  runtime::kernelOf(*program, kernel))),
      name(kernel), base(syntax::makeRequest(*program, kernel)) {
  takeParameters();
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
  }
  takeParameters();
}

void Kernel::State::takeParameters() {
  for (const syntax::KernelParameter &parameter : info.signature.parameters)
    if (!parameter.isConstexpr) {
      parameters.push_back(parameter.name);
      runtimeParameters.push_back(&parameter);
    }
  unspecialized = std::make_unique<bool[]>(parameters.size());
  for (size_t i = 0; i < parameters.size(); ++i)
    unspecialized[i] = runtimeParameters[i]->doNotSpecialize;
}

void Kernel::State::requireGpu(const runtime::LaunchDevice &device) const {
  if (isCuda() && device.isCpu())
    throw Error("`" + name + "` of " + base.file +
                    " is CUDA C++, which the cpu does not run",
                "launch it on a simulated GPU: TESSERA_DEVICE=sim:sm_80");
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

void Kernel::State::beginKey(runtime::LaunchKey &key,
                             const runtime::LaunchDevice &device,
                             std::span<const Arg> args,
                             const LaunchOptions &options, bool values) const {
  if (args.size() != parameters.size())
    checkCount(args.size());
  const auto &[numWarps, numStages, handle, stream, wideGrid, sequence, tuned] =
      options;
  // The device stands for the handle, and code does not depend on the stream.
  static_cast<void>(handle), static_cast<void>(stream);
  // Only a table makes a difference of the length.
  static_cast<void>(sequence), static_cast<void>(tuned);
  const uint64_t tag = tune::launchTag(device, options);
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

void Kernel::State::checkCount(size_t arguments) const {
  if (arguments == parameters.size())
    return;
  std::string list;
  for (const std::string &parameter : parameters)
    list += (list.empty() ? "" : ", ") + parameter;
  throw ArgumentError("kernel `" + name + "` takes " +
                          std::to_string(parameters.size()) +
                          " arguments, not " + std::to_string(arguments),
                      "pass, in this order: " + list);
}

Kernel::State::Defaults
Kernel::State::defaults(const runtime::LaunchDevice &device,
                        const tune::Chosen &tuned) const {
  Defaults result = defaults(device);
  if (!tuned.entry)
    return result;
  const tune::TuneChoice &use = tuned.entry->use;
  for (const auto &[constexpr_, value] : use.constexprs) {
    const int index = info.signature.find(constexpr_);
    if (index < 0 || !info.signature.parameters[size_t(index)].isConstexpr)
      throw Error("kernel `" + name + "` has no constexpr `" + constexpr_ +
                      "`; " + tune::originOf(tuned),
                  "correct the entry, or remove it");
    result.constexprs[constexpr_] = runtime::toValue(value);
  }
  result.numWarps = use.numWarps.value_or(result.numWarps);
  result.numStages = use.numStages.value_or(result.numStages);
  return result;
}

Configuration Kernel::State::configure(const runtime::LaunchDevice &device,
                                       std::span<const Arg> args,
                                       const Constexprs &given,
                                       const LaunchOptions &options) const {
  return configure(
      defaults(device, tune::choose(device, *this, args, given, options)), args,
      given);
}

Configuration Kernel::State::configure(const Defaults &usual,
                                       std::span<const Arg> args,
                                       const Constexprs &given) const {
  checkCount(args.size());
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
  for (const auto &[constexpr_, value] : usual.constexprs)
    result[constexpr_] = value;
  for (const auto &[constexpr_, value] : given) {
    if (std::find(known.begin(), known.end(), constexpr_) == known.end())
      throw ArgumentError("kernel `" + name + "` has no constexpr `" +
                              constexpr_ + "`",
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
      throw ArgumentError(
          "kernel `" + name + "` needs a value for the constexpr `" +
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
Kernel::State::request(std::span<const Arg> args, const Constexprs &constexprs,
                       const LaunchOptions &options) const {
  const runtime::LaunchDevice &device = launchDevice(options);
  requireGpu(device);
  const Defaults usual =
      defaults(device, tune::choose(device, *this, args, constexprs, options));
  const Configuration all = configure(usual, args, constexprs);
  syntax::CompileRequest request = base;
  request.target = device.target();
  // No time for a cubin, and no need of a ptxas.
  if (device.readsPtx())
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

// Combinations of values that a kernel with heuristics remembers. Beyond, they
// are evaluated at every launch: a length that is never the same again must
// not fill the memory.
static constexpr size_t mostValueEntries = 1024;

std::shared_ptr<runtime::SpecializedCode>
Kernel::State::codeUnder(runtime::LaunchKey::View key) {
  using Code = std::shared_ptr<runtime::SpecializedCode>;
  if (const Code *found = codes.find(key))
    return *found;
  return codes.insert(key, std::make_unique<Code>(
                               std::make_shared<runtime::SpecializedCode>()));
}

runtime::FoundEntry Kernel::State::entryOf(runtime::LaunchKey::View key,
                                           const runtime::LaunchDevice &device,
                                           std::span<const Arg> args,
                                           const Constexprs &constexprs,
                                           const LaunchOptions &options) {
  if (const runtime::LaunchEntry *found = table.find(key))
    return {found, nullptr};
  requireGpu(device);
  auto made = std::make_unique<runtime::LaunchEntry>();
  made->key.assign(key.begin(), key.end());
  made->device = &device;
  made->constexprs = constexprs;
  made->chosen = tune::choose(device, *this, args, constexprs, options);
  const Configuration all =
      configure(defaults(device, made->chosen), args, constexprs);
  for (const syntax::Heuristic &heuristic : info.heuristics)
    made->constexprs[heuristic.parameter] =
        runtime::fromValue(heuristic.parameter, all.at(heuristic.parameter));
  for (const auto &[constexpr_, value] : all)
    if (const auto *number = value.get<syntax::Int>();
        number && *number >= INT64_MIN && *number <= INT64_MAX)
      made->integers.emplace_back(constexpr_, int64_t(*number));
  runtime::LaunchKey codeKey;
  beginKey(codeKey, device, args, options, false);
  runtime::addConstexprs(codeKey, made->constexprs);
  made->code = codeUnder(codeKey.view());
  if (keyHasValues() && table.size() >= mostValueEntries) {
    const runtime::LaunchEntry *entry = made.get();
    return {entry, std::move(made)};
  }
  return {&table.insert(key, std::move(made)), nullptr};
}

LoadedKernel &Kernel::State::loadCode(const runtime::LaunchEntry &entry,
                                      std::span<const Arg> args,
                                      const LaunchOptions &options) const {
  runtime::SpecializedCode &code = *entry.code;
  std::lock_guard<std::mutex> guard(code.mutex);
  LaunchOptions own = options;
  own.device = DeviceHandle(*entry.device);
  const auto asked = request(args, entry.constexprs, own);
  const bool fresh = !code.kernel;
  if (fresh && entry.device->capturing(options.stream))
    throw Error("kernel `" + name + "` (" + asked.file +
                    ") is not loaded yet, and its stream is being captured "
                    "into a CUDA graph",
                "run the same step once before the capture begins");
  if (code.kernel)
    runtime::memoryHitCounter().fetch_add(1, std::memory_order_relaxed);
  else
    code.kernel = tune::orNameTable(entry.chosen, [&] {
      const auto compiled = CompileService::instance().get(asked);
      return entry.device->load(*compiled, name, parameters);
    });
  if (!entry.route)
    entry.route = &tune::routeOf(entry.chosen, *entry.device, *this, asked);
  if (fresh)
    code.kernel->describe(entry.route->configuration, asked.file);
  entry.loaded.store(code.kernel.get(), std::memory_order_release);
  return *code.kernel;
}

} // namespace tessera
