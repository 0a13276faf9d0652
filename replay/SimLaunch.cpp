// replay/SimLaunch.cpp - prepares a recorded launch for the simulator.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "replay/SimLaunch.h"

#include "language/Request.h"
#include "replay/Replay.h"
#include "runtime/compile/CompileService.h"
#include "support/File.h"
#include "support/GpuTarget.h"
#include "support/Names.h"
#include "support/Options.h"

#include <algorithm>
#include <cstdlib>

namespace tessera::cases {

namespace fs = std::filesystem;

namespace {

// Returns the maximum shared memory of a block, in bytes (CUDA C++ Programming
// Guide, technical specifications per compute capability). PTX does not contain
// the dynamic size of the launch, so the launch gets the maximum.
uint32_t sharedLimit(const std::string &target) {
  if (target.starts_with("sm_90") || target.starts_with("sm_10"))
    return 227 << 10;
  return target.starts_with("sm_80") || target.starts_with("sm_87") ? 163 << 10
                                                                    : 99 << 10;
}

bool isOne(const CaseArgument &argument) {
  if (argument.kind == ArgumentKind::Pointer || !argument.value)
    return false;
  const auto *number = std::get_if<int64_t>(&*argument.value);
  return number && *number == 1;
}

// True if an argument fits a parameter of that size. `exact`: the size must be
// Triton's. CUDA C++ may pass small integers as long, and floats as double.
bool fits(const CaseArgument &argument, uint32_t bytes, bool exact) {
  if (argument.kind == ArgumentKind::Pointer)
    return bytes == 8;
  if (argument.kind == ArgumentKind::Float)
    return bytes == 4 || (bytes == 8 && !exact);
  if (!exact)
    return bytes <= 8;
  if (std::holds_alternative<bool>(*argument.value))
    return bytes == 1;
  const int64_t number = std::get<int64_t>(*argument.value);
  return bytes == (number >= INT32_MIN && number <= INT32_MAX ? 4 : 8);
}

// Assigns arguments to parameters; null for parameters that Triton appends
// (scratch memory). Triton omits integers equal to 1 unless told otherwise,
// CUDA C++ omits nothing. So tries every way to omit ones, fewest parameters
// without argument first.
class ParameterMatch {
public:
  ParameterMatch(const Case &recorded, const std::vector<uint32_t> &sizes)
      : arguments(recorded.arguments), sizes(sizes) {}

  bool find() { return find(true) || find(false); }

  std::vector<const CaseArgument *> result;

private:
  bool find(bool exactSizes) {
    exact = exactSizes;
    for (size_t appended = 0; appended <= 2 && appended <= sizes.size();
         ++appended) {
      wanted = sizes.size() - appended;
      result.clear();
      if (std::all_of(sizes.begin() + long(wanted), sizes.end(),
                      [](uint32_t bytes) { return bytes == 8; }) &&
          match(0))
        return true;
    }
    return false;
  }

  bool match(size_t next) {
    if (next == arguments.size())
      return result.size() == wanted;
    // Too few arguments remain for the parameters.
    if (result.size() + arguments.size() - next < wanted)
      return false;
    const CaseArgument &argument = arguments[next];
    if (isOne(argument) && match(next + 1))
      return true;
    if (result.size() >= wanted || !fits(argument, sizes[result.size()], exact))
      return false;
    result.push_back(&argument);
    if (match(next + 1))
      return true;
    result.pop_back();
    return false;
  }

  const std::vector<CaseArgument> &arguments;
  const std::vector<uint32_t> &sizes;
  size_t wanted = 0;
  bool exact = true;
};

template <typename T>
sim::Param truncated(const T &value, uint32_t bytes) {
  sim::Param param = sim::scalar(value);
  param.bytes.resize(bytes);
  return param;
}

sim::Param scalarParam(const CaseArgument &argument, uint32_t bytes) {
  if (const auto *number = std::get_if<double>(&*argument.value))
    return bytes == 4 ? sim::scalar(float(*number)) : sim::scalar(*number);
  if (const auto *flag = std::get_if<bool>(&*argument.value))
    return truncated(int64_t(*flag), bytes);
  return truncated(std::get<int64_t>(*argument.value), bytes);
}

std::string kernelOf(const sim::Module &module, const Case &recorded,
                     const fs::path &file) {
  const std::vector<std::string> kernels = module.kernels();
  if (std::find(kernels.begin(), kernels.end(), recorded.kernel) !=
      kernels.end())
    return recorded.kernel;
  if (kernels.size() == 1)
    return kernels[0];
  throw Error(file.string() + " has no kernel `" + recorded.kernel + "`",
              nearestNameHint(recorded.kernel, kernels, "kernels"));
}

const ArgumentMemory &find(const std::vector<ArgumentMemory> &memory,
                           const std::string &name) {
  return *std::find_if(memory.begin(), memory.end(),
                       [&](const auto &one) { return one.name == name; });
}

} // namespace

CaseMemory fillMemory(const LoadedCase &loaded) {
  CaseMemory memory;
  for (const CaseArgument &argument : loaded.recorded.arguments) {
    if (argument.kind != ArgumentKind::Pointer)
      continue;
    if (!argument.type)
      throw Error((loaded.folder / "case.json").string() + ": argument `" +
                      argument.name + "` is " + argument.dtype,
                  "the simulator takes integers, fp16, bf16, fp32 and fp64");
    const std::string what = (loaded.folder / "before.safetensors").string() +
                             ": tensor `" + argument.name + "`";
    const GuardedBuffer &buffer = memory.buffers.emplace_back(makeBuffer(
        argument,
        tensorOf(loaded, loaded.before, "before.safetensors", argument), what));
    memory.arguments.push_back(memoryOf(loaded.recorded, argument, buffer));
  }
  return memory;
}

namespace {

SimLaunch fromText(const LoadedCase &loaded,
                   const std::vector<ArgumentMemory> &memory,
                   const std::string &text, const fs::path &file) {
  const Case &recorded = loaded.recorded;
  SimLaunch launch{sim::Module::load(text, file.filename().string())};
  const sim::Module &module = launch.module;
  launch.kernel = kernelOf(module, recorded, file);
  const std::vector<uint32_t> sizes = module.parameterBytes(launch.kernel);
  ParameterMatch match(recorded, sizes);
  if (!match.find())
    throw Error(file.string() + ": the " + std::to_string(sizes.size()) +
                    " parameters of `" + launch.kernel +
                    "` do not fit the arguments of the case",
                "compile the PTX for this launch: pointers and scalars in "
                "order, constexprs and the integer 1 left out");
  for (size_t i = 0; i < sizes.size(); ++i) {
    const CaseArgument *argument =
        i < match.result.size() ? match.result[i] : nullptr;
    if (!argument)
      launch.params.push_back(sim::scalar(uint64_t(0)));
    else if (argument->kind != ArgumentKind::Pointer)
      launch.params.push_back(scalarParam(*argument, sizes[i]));
    else
      launch.params.push_back(
          sim::pointer(find(memory, argument->name).address));
  }
  for (const ArgumentMemory &one : memory)
    if (one.bytes) {
      launch.memory.add(one.name, one.begin, one.bytes, one.written);
      // A lock has the same value before and after, so it is not listed as
      // written. The comparison detects a lasting change.
      launch.memory.ranges.back().atomics = true;
    }
  launch.grid = recorded.grid;
  launch.block = module.requiredBlock(launch.kernel);
  if (!launch.block[0])
    launch.block = {
        32 * uint32_t(std::max<int64_t>(1, recorded.numWarps.value_or(4))), 1,
        1};
  const uint32_t limit = sharedLimit(module.target());
  const uint32_t fixed = module.staticShared(launch.kernel);
  launch.dynamicShared = fixed < limit ? limit - fixed : 0;
  return launch;
}

} // namespace

SimLaunch simLaunch(const LoadedCase &loaded,
                    const std::vector<ArgumentMemory> &memory,
                    const fs::path &ptx) {
  std::error_code error;
  const fs::path file =
      fs::is_regular_file(ptx, error) ? ptx : loaded.folder / ptx;
  return fromText(loaded, memory, readFile(file), file);
}

language::CompileRequest simRequest(const LoadedCase &loaded,
                                    const std::string &device,
                                    std::optional<int64_t> numWarps,
                                    std::optional<int64_t> numStages) {
  const PreparedLaunch prepared = prepareLaunch(loaded);
  ::setenv(optionInfo(Option::F32Default).name, prepared.f32Default.c_str(), 1);
  LaunchOptions options = prepared.options;
  options.device = findDevice(device);
  options.wideGrid = loaded.recorded.grid[0] > narrowGrid;
  if (numWarps)
    options.numWarps = numWarps;
  if (numStages)
    options.numStages = numStages;
  return prepared.kernel->compileRequest(prepared.args, prepared.constexprs,
                                         options);
}

SimLaunch simLaunchOf(const LoadedCase &loaded,
                      const std::vector<ArgumentMemory> &memory,
                      const runtime::CompiledKernel &compiled) {
  const auto ptx = compiled.stages.find("ptx");
  if (ptx == compiled.stages.end())
    throw Error("no PTX of `" + loaded.recorded.kernel + "`",
                "clear the cache: tessera cache clear");
  SimLaunch launch =
      fromText(loaded, memory, ptx->second, loaded.recorded.kernel + ".ptx");
  launch.dynamicShared = compiled.meta.sharedBytes;
  if (compiled.meta.threads)
    launch.block = {compiled.meta.threads, 1, 1};
  return launch;
}

SimLaunch compiledSimLaunch(const LoadedCase &loaded,
                            const std::vector<ArgumentMemory> &memory,
                            const std::string &device) {
  language::CompileRequest request = simRequest(loaded, device);
  request.assembler = "none"; // the simulator executes PTX only
  return simLaunchOf(loaded, memory,
                     *runtime::CompileService::instance().get(request));
}

} // namespace tessera::cases
