// tools/compile/Jobs.cpp - finds the kernels of a file that a command line
// names.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/Jobs.h"

#include "language/Evaluate.h"
#include "language/Expand.h"
#include "language/Parser.h"
#include "language/TupleText.h"
#include "runtime/Kernel.h"
#include "support/CpuTarget.h"
#include "support/Error.h"
#include "support/GpuTarget.h"
#include "support/Lists.h"
#include "support/Names.h"
#include "support/Options.h"
#include "support/Text.h"
#include "tools/commands/OptionChecks.h"
#include "tools/compile/ExampleTypes.h"
#include "tools/compile/SelectedJobs.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace tessera::tools {

using language::Argument;
using language::Value;

std::string trimmed(std::string_view text) {
  return std::string(trimSpaces(text, " \t\n"));
}

std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find(separator, begin), text.size());
    if (std::string part = trimmed(text.substr(begin, end - begin));
        !part.empty())
      parts.push_back(part);
    begin = end + 1;
  }
  return parts;
}

std::pair<std::string, std::string> nameAndValue(const std::string &text,
                                                 const std::string &what) {
  const auto given = nameAndValueOf(text);
  if (!given || given->first.empty())
    throw Error(what + " `" + text + "` has no value", "write NAME=value");
  return {trimmed(given->first), trimmed(given->second)};
}

namespace {

// Returns a function of a file, such as "masks.py:causal_mask".
std::optional<Value> functionOfFile(const std::string &text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || !text.substr(0, colon).ends_with(".py") ||
      text.find_first_of("\"'()[]") != std::string::npos)
    return std::nullopt;
  return Value(
      Value::KernelFunction{text.substr(colon + 1), text.substr(0, colon)});
}

// Collects the types of parameters from the command line by name; for tuples,
// the types of their leaves.
class GivenValues {
public:
  GivenValues(const language::Program &program,
              const language::KernelInfo &info)
      : program(program), info(info) {}

  std::map<std::string, Value> values;

  Value evaluated(const std::string &what, const std::string &text) const {
    if (auto function = functionOfFile(text))
      return *function;
    auto file = std::make_shared<SourceFile>(what, text);
    auto expression = language::parseExpression(file);
    return language::evaluate(*expression, program.scope(*info.function), file);
  }

  // Adds a type or a value.
  void addText(const std::string &what, const std::string &name,
               const std::string &text) {
    if (const auto *tuple = info.signature.findTuple(name);
        tuple && language::isTupleText(text))
      return language::addLeavesOfText(
          info.signature, *tuple, text,
          [&](const std::string &leaf) { return typeOrValue(what, leaf); },
          values);
    add(name, typeOrValue(what, text));
  }

  void add(const std::string &name, Value value) {
    if (const auto *tuple = info.signature.findTuple(name))
      return language::addLeaves(info.signature, *tuple, value, values);
    if (info.signature.find(name) >= 0) {
      values[name] = std::move(value);
      return;
    }
    std::vector<std::string> known =
        namesOf(info.signature.parameters, &language::KernelParameter::name);
    for (const language::TupleParameter &tuple : info.signature.tuples)
      known.push_back(tuple.name);
    throw Error("kernel `" + info.signature.kernel + "` has no parameter `" +
                    name + "`",
                nearestNameHint(name, known, "parameters"));
  }

private:
  Value typeOrValue(const std::string &what, const std::string &text) const {
    return language::ArgClass::parse(text) ? Value(text)
                                           : evaluated(what, text);
  }

  const language::Program &program;
  const language::KernelInfo &info;
};

// Returns the types of parameters from the command line by name.
std::map<std::string, Value> givenValues(const JobOptions &options,
                                         const language::Program &program,
                                         const language::KernelInfo &info) {
  GivenValues given(program, info);
  const std::vector<std::string> parts =
      language::splitOutsideBrackets(options.signature);
  const bool named =
      std::any_of(parts.begin(), parts.end(), [](const std::string &part) {
        return part.find('=') < part.find('(');
      });
  if (!parts.empty() && !named) {
    // Triton's form: one type for each parameter, in order.
    const auto &parameters = info.function->parameters;
    if (parts.size() > parameters.size())
      throw Error("--signature has " + std::to_string(parts.size()) +
                      " entries; `" + info.signature.kernel + "` takes " +
                      std::to_string(parameters.size()),
                  "one for each parameter: a type or a constexpr's value");
    for (size_t i = 0; i < parts.size(); ++i)
      given.addText("--signature", parameters[i].name, parts[i]);
  } else {
    std::set<std::string> seen;
    for (const std::string &part : parts) {
      auto [name, text] = nameAndValue(part, "--signature");
      if (!seen.insert(name).second)
        throw Error("--signature gives `" + name + "` twice",
                    "give each argument once");
      const int index = info.signature.find(name);
      const bool isValue =
          (index >= 0 &&
           info.signature.parameters[size_t(index)].isConstexpr) ||
          text == "None" || text == "True" || text == "False" ||
          text.find_first_of("0123456789-.\"'") == 0;
      if (info.signature.findTuple(name))
        given.addText("-s " + name, name, text);
      else
        given.add(name,
                  isValue ? given.evaluated("-s " + name, text) : Value(text));
    }
  }
  for (const std::string &define : options.defines) {
    auto [name, text] = nameAndValue(define, "-D");
    given.add(name, given.evaluated("-D " + name, text));
  }
  return std::move(given.values);
}

Job makeJob(const JobOptions &options, const language::Program &program,
            const language::KernelInfo &info,
            const language::Instance *instance) {
  const std::map<std::string, Value> given =
      givenValues(options, program, info);
  const bool gpu = GpuTarget::looksLike(options.target);
  const auto &configs =
      (gpu ? !info.configs.empty() : info.hints.cpuConfigs.empty())
          ? info.configs
          : info.hints.cpuConfigs;
  Job job;
  job.name = instance ? instance->name : info.signature.kernel;
  job.request = language::makeRequest(program, info.signature.kernel);
  std::string missing;
  for (size_t i = 0; i < info.signature.parameters.size(); ++i) {
    const language::KernelParameter &parameter = info.signature.parameters[i];
    const Value *configured = nullptr;
    if (!configs.empty())
      for (const auto &[name, value] : configs[0].constexprs)
        if (name == parameter.name)
          configured = &value;
    if (auto found = given.find(parameter.name); found != given.end())
      job.request.args.push_back(
          language::argumentFromValue(parameter, found->second));
    else if (instance)
      job.request.args.push_back(instance->arguments[i]);
    else if (parameter.isConstexpr && configured)
      job.request.args.push_back(
          language::argumentFromValue(parameter, *configured));
    else if (parameter.hasDefault)
      job.request.args.push_back(
          language::argumentFromValue(parameter, parameter.defaultValue));
    else
      missing += (missing.empty() ? "" : ", ") + parameter.name;
  }
  if (missing.empty())
    language::addFunctions(program, job.request);
  else
    throw Error("no type or value for: " + missing,
                "give types in --signature \"NAME=*fp32:16, N=i32\" and "
                "constexprs with -D NAME=value, or use --instance");
  auto pick = [](int64_t wanted, std::optional<int64_t> first,
                 std::optional<int64_t> second, int64_t otherwise) {
    return wanted ? wanted : first.value_or(second.value_or(otherwise));
  };
  std::optional<int64_t> warps, stages;
  if (!configs.empty()) {
    warps = configs[0].numWarps;
    stages = configs[0].numStages;
  }
  language::CompileOptions &compile = job.request.options;
  if (gpu) {
    compile.numStages =
        options.noHints ? 3 : info.hints.stages.value_or(3); // 3: Triton's
    compile.swapAb = info.hints.swapAb && !options.noHints;
    compile.constantInputs = info.hints.constantInputs && !options.noHints;
    compile.wideGrid = options.wideGrid;
  }
  compile.numWarps =
      pick(options.numWarps, instance ? instance->numWarps : std::nullopt,
           warps, compile.numWarps);
  compile.numStages =
      pick(options.numStages, instance ? instance->numStages : std::nullopt,
           stages, compile.numStages);
  compile.f32Default = optionText(Option::F32Default);
  compile.debug = info.debug || optionNumber(Option::Debug) != 0;
  job.request.target = options.target.empty() ? hostTarget() : options.target;
  if (gpu)
    GpuTarget::parse(job.request.target); // throws
  else if (!CpuTarget::parse(job.request.target))
    throw Error("`" + job.request.target + "` is not a target",
                "write for example sm_80 or cpu:x86-64-v3:0000, or leave "
                "--target out for this machine");
  return job;
}

} // namespace

std::vector<language::KernelInfo>
describeAll(const language::Program &program) {
  std::vector<language::KernelInfo> result;
  for (const language::StmtPtr &statement : program.main().body)
    if (const auto *function = statement->as<language::FunctionDef>();
        function && function->isJit)
      result.push_back(language::describeKernel(program, *function));
  return result;
}

std::vector<Job> makeJobs(const JobOptions &options,
                          const language::Program &program) {
  if (options.kernel.empty() && selectsBlocks(program))
    return selectedJobs(options, program);
  if (!options.settings.empty())
    throw Error("--set is for patterns that select blocks, and " +
                    options.file + " is not such a pattern",
                "give types with --instance or --signature");
  if (!options.signature.empty() && !options.instances.empty())
    throw Error("--signature and --instance both give the types of the "
                "arguments",
                "leave one of the two out; -D NAME=value changes a constexpr "
                "of an instance");
  if (!options.kernel.empty() && options.instances.empty())
    return {makeJob(
        options, program,
        language::describeKernel(program, program.kernel(options.kernel)),
        nullptr)};
  std::vector<Job> jobs;
  std::vector<std::string> known;
  std::set<std::string> wanted(options.instances.begin(),
                               options.instances.end());
  const bool all = wanted.empty() || wanted.count("all");
  wanted.erase("all");
  for (const language::KernelInfo &info : describeAll(program)) {
    if (!options.kernel.empty() && info.signature.kernel != options.kernel)
      continue;
    for (const language::Instance &instance : info.hints.instances) {
      known.push_back(instance.name);
      if (all || wanted.count(instance.name))
        jobs.push_back(makeJob(options, program, info, &instance));
      wanted.erase(instance.name);
    }
  }
  if (!wanted.empty() && !known.empty())
    throw Error(options.file + " has no instance `" + *wanted.begin() + "`",
                nearestNameHint(*wanted.begin(), known, "instances"));
  if (!jobs.empty())
    return jobs;
  // If the file has only one kernel, types alone select it.
  const std::vector<language::KernelInfo> kernels = describeAll(program);
  if (kernels.size() == 1 && wanted.empty() &&
      !(options.signature.empty() && options.defines.empty()))
    return {makeJob(options, program, kernels[0], nullptr)};
  throw Error(options.file + " names no instances",
              kernels.empty()
                  ? "it has no kernel: decorate a function with @triton.jit"
                  : "give types and constexprs, for example: " +
                        (kernels.size() == 1
                             ? std::string()
                             : "-k " + kernels[0].signature.kernel + " ") +
                        "-s \"" + exampleSignature(kernels[0]) +
                        "\"; or name them above the kernel: # tessera: "
                        "instance NAME(...)");
}

void addJobOptions(CLI::App &verb, JobOptions &options) {
  verb.add_option("-k,--kernel", options.kernel, "function to compile");
  verb.add_option("-i,--instance", options.instances,
                  "a `# tessera: instance` of the file, or all (default); of "
                  "a pattern that selects blocks a kernel that its op launches")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  verb.add_option("-s,--signature", options.signature,
                  "types of the arguments: \"X=*fp32:16, N=i32\", or one "
                  "for each in order: \"*fp32:16, i32, 64\"; of a tuple "
                  "\"Q=Rows(*fp32:16, i32, 1)\"");
  verb.add_option("-D,--define", options.defines,
                  "NAME=value of a constexpr, or of an argument to make one; "
                  "FILE.py:NAME is a function, S.G a value of a tuple")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  verb.add_option("--set", options.settings,
                  "KEY=VALUE of a training run, for a pattern that selects "
                  "blocks: model.n_heads=8, train.seq_len=4096, "
                  "attention_params=top=8")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  verb.add_option("--num-warps", options.numWarps, "warps per program (GPU)")
      ->check(CLI::Range(int64_t(1), int64_t(64)));
  verb.add_option("--num-stages", options.numStages, "pipeline depth (GPU)")
      ->check(CLI::Range(int64_t(1), int64_t(64)));
  verb.add_flag("--wide-grid", options.wideGrid,
                "for launches of more than 2^21 programs along x");
  verb.add_flag("--no-hints", options.noHints,
                "as if the file had no `# tessera: swap_ab` and `stages`, "
                "which Triton cannot read");
}

} // namespace tessera::tools
