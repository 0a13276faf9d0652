// language/Manifest.cpp - the kernels of a file, as JSON for tools.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/Manifest.h"

#include "language/Decorators.h"
#include "language/ValueJson.h"
#include "support/Error.h"
#include "support/Json.h"

namespace tessera::language {

static Json paramToJson(const KernelParameter &parameter) {
  Json json = {{"name", parameter.name}, {"constexpr", parameter.isConstexpr}};
  if (parameter.hasDefault)
    json["default"] = toJson(parameter.defaultValue);
  if (parameter.doNotSpecialize)
    json["doNotSpecialize"] = true;
  if (parameter.doNotSpecializeAlignment)
    json["doNotSpecializeAlignment"] = true;
  return json;
}

static Json configToJson(const Value::Config &config) {
  Json constexprs = Json::object();
  for (const auto &[name, value] : config.constexprs)
    constexprs[name] = toJson(value);
  Json json = {{"constexprs", constexprs}};
  if (config.numWarps)
    json["num_warps"] = *config.numWarps;
  if (config.numStages)
    json["num_stages"] = *config.numStages;
  return json;
}

static Json configsToJson(const std::vector<Value::Config> &configs) {
  Json json = Json::array();
  for (const Value::Config &config : configs)
    json.push_back(configToJson(config));
  return json;
}

static Json instanceToJson(const Instance &instance) {
  Json args = Json::object();
  for (const Argument &argument : instance.arguments)
    args[argument.name] =
        argument.isConstexpr()
            ? Json{{"kind", "constexpr"}, {"value", toJson(argument.value)}}
            : Json{{"kind", argKindName(argument.kind)},
                   {"type", argument.type}};
  Json json = {{"args", args}};
  if (instance.numWarps)
    json["num_warps"] = *instance.numWarps;
  if (instance.numStages)
    json["num_stages"] = *instance.numStages;
  return json;
}

static Json spacesToJson(const std::vector<Hints::Space> &spaces) {
  Json json = Json::array();
  for (const Hints::Space &space : spaces) {
    Json values = Json::object();
    for (const auto &[name, list] : space.values)
      for (const Value &value : list)
        values[name].push_back(toJson(value));
    json.push_back(Json{{"values", values}});
    if (space.where)
      json.back()["where"] = dump(*space.where);
  }
  return json;
}

static Json kernelToJson(const KernelInfo &kernel) {
  Json json = {{"name", kernel.function->name},
               {"line", kernel.function->nameRange.line},
               {"configs", configsToJson(kernel.configs)},
               {"key", kernel.key}};
  json["params"] = Json::array();
  for (const KernelParameter &parameter : kernel.signature.parameters)
    json["params"].push_back(paramToJson(parameter));
  for (const TupleParameter &tuple : kernel.signature.tuples)
    json["tuples"][tuple.name] = {{"type", tuple.type},
                                  {"fields", tuple.fields}};
  json["heuristics"] = Json::object();
  for (const Heuristic &heuristic : kernel.heuristics)
    json["heuristics"][heuristic.parameter] = heuristic.text;
  const Hints &hints = kernel.hints;
  json["hints"] = {{"cpu", configsToJson(hints.cpuConfigs)},
                   {"space", spacesToJson(hints.spaces)},
                   {"swap_ab", hints.swapAb},
                   {"constant_inputs", hints.constantInputs},
                   {"predicate", hints.predicate}};
  json["hints"]["stages"] = hints.stages ? Json(*hints.stages) : Json();
  json["instances"] = Json::object();
  for (const Instance &instance : hints.instances)
    json["instances"][instance.name] = instanceToJson(instance);
  return json;
}

static Json unsupportedToJson(const ListedKernel &kernel) {
  KernelInfo info;
  info.function = kernel.function;
  for (const Parameter &parameter : kernel.function->parameters) {
    KernelParameter known;
    known.name = parameter.name;
    known.isConstexpr = parameter.isConstexpr;
    info.signature.parameters.push_back(std::move(known));
  }
  Json json = kernelToJson(info);
  json["unsupported"] = Json::array();
  for (const Diagnostic &problem : kernel.problems)
    json["unsupported"].push_back(problem.message);
  return json;
}

std::string manifestJson(const Program &program) {
  Json kernels = Json::array();
  std::vector<Diagnostic> diagnostics;
  for (const ListedKernel &kernel : listKernels(program)) {
    if (kernel.info)
      kernels.push_back(kernelToJson(*kernel.info));
    else if (kernel.outcome == ListedKernel::Outcome::Unsupported)
      kernels.push_back(unsupportedToJson(kernel));
    else
      diagnostics.insert(diagnostics.end(), kernel.problems.begin(),
                         kernel.problems.end());
  }
  if (!diagnostics.empty())
    throw CompileError(std::move(diagnostics));
  return canonicalJson(
      Json{{"file", program.main().file->path()}, {"kernels", kernels}});
}

} // namespace tessera::language
