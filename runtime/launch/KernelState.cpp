// runtime/launch/KernelState.cpp - reads what a kernel declares: parameters,
// default configurations, its name in tables.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/KernelState.h"

#include "language/CudaSource.h"
#include "language/Expand.h"
#include "runtime/launch/KernelName.h"
#include "support/ArgumentError.h"

#include <algorithm>

namespace tessera {

using language::Value;

namespace runtime {

// Returns the kernel of that name. Throws Error if the file does not define it.
static const language::FunctionDef &kernelOf(const language::Program &program,
                                             const std::string &name) {
  try {
    return program.kernel(name);
  } catch (const CompileError &) {
    throw;
  } catch (const Error &wrong) {
    throw ArgumentError(wrong.message, wrong.hint);
  }
}

} // namespace runtime

Kernel::State::State(std::shared_ptr<const language::Program> given,
                     const std::string &kernel)
    : program(std::move(given)),
      info(language::describeKernel(*program,
                                    runtime::kernelOf(*program, kernel))),
      name(kernel), base(language::makeRequest(*program, kernel)) {
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
      base(language::makeCudaRequest(path, text, kernel, {}, "sm_80")) {
  info.signature.kernel = kernel;
  for (const language::Argument &argument : base.args) {
    language::KernelParameter parameter;
    parameter.name = argument.name;
    parameter.doNotSpecialize = true;
    info.signature.parameters.push_back(std::move(parameter));
  }
  takeParameters();
}

void Kernel::State::takeParameters() {
  for (const language::KernelParameter &parameter : info.signature.parameters)
    if (!parameter.isConstexpr) {
      parameters.push_back(parameter.name);
      runtimeParameters.push_back(&parameter);
    }
  unspecialized = std::make_unique<bool[]>(parameters.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    unspecialized[i] = runtimeParameters[i]->doNotSpecialize;
    const std::string &type = runtimeParameters[i]->declared;
    if (!type.starts_with("i") && !type.starts_with("u"))
      continue;
    const uint64_t all = ~uint64_t{0} >> (64 - language::elementBits(type));
    declaredRanges.push_back(
        {i, -int64_t(all >> 1) - 1,
         language::isSignedElement(type) ? all >> 1 : all});
  }
}

void Kernel::State::requireGpu(const runtime::LaunchDevice &device) const {
  if (isCuda() && device.isCpu())
    throw Error("`" + name + "` of " + base.file +
                    " is CUDA C++, which the cpu does not run",
                "launch it on a simulated GPU: TESSERA_DEVICE=sim:sm_80");
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

const std::pair<std::string, std::string> &Kernel::State::nameAndHash() const {
  std::call_once(named, [&] {
    names.first = runtime::kernelName(base.file, name);
    names.second = runtime::textHash(base.text);
  });
  return names;
}

std::string Kernel::State::textHash(const Constexprs &constexprs) const {
  if (isCuda() ||
      std::none_of(constexprs.begin(), constexprs.end(), [](const auto &entry) {
        return std::holds_alternative<EncodedConstexpr>(entry.second);
      }))
    return nameAndHash().second;
  return runtime::textHash(language::textWith(*program, name, constexprs));
}

} // namespace tessera
