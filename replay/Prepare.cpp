// replay/Prepare.cpp - binds a case's arguments to the kernel's parameters.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/ConstexprValues.h"
#include "language/Decorators.h"
#include "language/Program.h"
#include "replay/KernelText.h"
#include "replay/Replay.h"
#include "support/Error.h"
#include "support/Lists.h"
#include "support/Names.h"
#include "support/Options.h"

#include <algorithm>
#include <set>

namespace tessera::cases {

namespace {

// Keywords that a launch accepts in addition to parameters. Replay uses only
// num_warps and num_stages.
const std::set<std::string, std::less<>> launchWords = {
    "num_warps",
    "num_stages",
    "num_ctas",
    "maxnreg",
    "debug",
    "enable_fp_fusion",
    "allow_fp8e4nv",
    "waves_per_eu",
    "matrix_instr_nonkdim",
    "kpack",
    "warmup",
    "extern_libs",
    "launch_cooperative_grid",
    "num_buffers_warp_spec",
    "num_consumer_groups",
    "reg_dec_producer",
    "reg_inc_consumer"};

// Converts a text that names a dtype to the dtype, unless the kernel contains
// the quoted text, which it then compares.
ConstexprValue resolved(const ConstexprValue &value, const std::string &text) {
  const auto *word = std::get_if<std::string>(&value);
  if (!word)
    return value;
  std::string name = *word;
  for (const char *prefix : {"triton.language.", "torch.", "tl."})
    if (name.starts_with(prefix))
      name = name.substr(std::string(prefix).size());
  const auto type = dtypeFromText(name);
  if (!type || text.find("\"" + *word + "\"") != std::string::npos ||
      text.find("'" + *word + "'") != std::string::npos)
    return value;
  return *type;
}

struct Parsed {
  Kernel kernel;
  std::vector<language::KernelParameter> parameters;
};

Parsed parseKernel(const std::string &text, const std::string &kernel,
                   const std::string &path) {
  const auto program = language::Program::load(path, text);
  auto info = language::describeKernel(*program, program->kernel(kernel));
  return {Kernel::fromSource(text, kernel, path), info.signature.parameters};
}

// Appends the functions that the value is or contains.
void addFunctionNames(const language::Value &value,
                      std::vector<std::string> &names) {
  if (const auto *function = value.get<language::Value::KernelFunction>())
    names.push_back(function->name);
  if (const auto *items = value.sequence())
    for (const language::Value &item : *items)
      addFunctionNames(item, names);
}

// Parses a recorded module. It may contain code outside of the language, and
// decorators that only Python can evaluate.
Parsed parseRecorded(const LoadedCase &loaded) {
  const std::string path =
      (loaded.folder / loaded.recorded.kernelFile).lexically_normal().string();
  const std::string &kernel = loaded.recorded.kernel;
  try {
    return parseKernel(loaded.kernelText, kernel, path);
  } catch (const CompileError &) {
    std::vector<std::string> functions;
    for (const auto &[name, value] : loaded.recorded.constexprs)
      if (std::holds_alternative<EncodedConstexpr>(value))
        addFunctionNames(language::toValue(value), functions);
    return parseKernel(onlyKernel(loaded.kernelText, kernel, functions), kernel,
                       path);
  }
}

Arg argumentFor(const CaseArgument &argument) {
  if (argument.kind == ArgumentKind::Pointer) {
    if (!argument.type)
      throw UnsupportedCase("argument `" + argument.name + "` is of " +
                            argument.dtype +
                            ", which kernels do not take here");
    // Any multiple of 16 represents an aligned address.
    return Pointer{reinterpret_cast<void *>(uintptr_t(4096)), *argument.type};
  }
  if (!argument.value)
    throw UnsupportedCase("argument `" + argument.name + "` is " +
                          argument.text + ", which only u64 holds");
  return *argument.value;
}

// Converts a constexpr that was recorded for a run-time parameter: None, or a
// value that the recorder knew to be specialized.
Arg constexprAsArgument(const std::string &name, const ConstexprValue &value) {
  return std::visit(
      [&](const auto &held) -> Arg {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, std::string> ||
                      std::is_same_v<T, DType> ||
                      std::is_same_v<T, EncodedConstexpr>)
          throw UnsupportedCase("parameter `" + name +
                                "` is a text, dtype or tuple and not annotated "
                                "tl.constexpr");
        else
          return held;
      },
      value);
}

ConstexprValue argumentAsConstexpr(const CaseArgument &argument) {
  if (argument.kind != ArgumentKind::Pointer && argument.value) {
    if (const auto *flag = std::get_if<bool>(&*argument.value))
      return *flag;
    if (const auto *number = std::get_if<int64_t>(&*argument.value))
      return *number;
    if (const auto *number = std::get_if<double>(&*argument.value))
      return *number;
  }
  throw Error(
      "argument `" + argument.name +
          "` is not a number, and the kernel's parameter a tl.constexpr",
      "list it among the constexprs");
}

ConstexprValue defaultOf(const language::KernelParameter &parameter) {
  const language::Value &value = parameter.defaultValue;
  if (value.isNone())
    return nullptr;
  if (const bool *flag = value.get<bool>())
    return *flag;
  if (const auto *number = value.get<language::Int>();
      number && *number >= INT64_MIN && *number <= INT64_MAX)
    return int64_t(*number);
  if (const double *number = value.get<double>())
    return *number;
  throw Error("parameter `" + parameter.name + "` has no value in the case",
              "add it to args or constexprs");
}

void rejectUnknown(const Case &recorded,
                   const std::vector<language::KernelParameter> &parameters) {
  const std::vector<std::string> known =
      namesOf(parameters, &language::KernelParameter::name);
  auto check = [&](const std::string &name, const std::string &what) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw Error(what + " `" + name + "` is not a parameter of kernel `" +
                      recorded.kernel + "`",
                  nearestNameHint(name, known, "parameters"));
  };
  for (const CaseArgument &argument : recorded.arguments)
    check(argument.name, "argument");
  for (const auto &[name, value] : recorded.constexprs)
    if (!launchWords.contains(name))
      check(name, "constexpr");
}

} // namespace

PreparedLaunch prepareLaunch(const LoadedCase &loaded) {
  const Case &recorded = loaded.recorded;
  for (const CaseArgument &argument : recorded.arguments)
    argumentFor(argument); // reports unsupported before invalid
  Parsed parsed = parseRecorded(loaded);
  rejectUnknown(recorded, parsed.parameters);
  PreparedLaunch launch;
  launch.kernel = std::move(parsed.kernel);
  for (const language::KernelParameter &parameter : parsed.parameters) {
    const CaseArgument *argument = recorded.find(parameter.name);
    const auto found = recorded.constexprs.find(parameter.name);
    const bool given = found != recorded.constexprs.end();
    if (parameter.isConstexpr) {
      if (given)
        launch.constexprs[parameter.name] =
            resolved(found->second, loaded.kernelText);
      else if (argument)
        launch.constexprs[parameter.name] = argumentAsConstexpr(*argument);
      // Otherwise decorators and defaults apply.
    } else if (argument) {
      launch.args.push_back(argumentFor(*argument));
    } else if (given) {
      launch.args.push_back(constexprAsArgument(parameter.name, found->second));
    } else if (parameter.hasDefault) {
      launch.args.push_back(
          constexprAsArgument(parameter.name, defaultOf(parameter)));
    } else {
      throw Error("kernel `" + recorded.kernel + "` takes `" + parameter.name +
                      "`, which the case does not give",
                  "add it to args, or to constexprs with null if it was None");
    }
  }
  auto option = [&](const std::optional<int64_t> &field, const char *name) {
    const auto found = recorded.constexprs.find(name);
    if (!field && found != recorded.constexprs.end())
      if (const auto *number = std::get_if<int64_t>(&found->second))
        return std::optional<int64_t>(*number);
    return field;
  };
  launch.options.numWarps = option(recorded.numWarps, "num_warps");
  launch.options.numStages = option(recorded.numStages, "num_stages");
  if (launch.options.numWarps && *launch.options.numWarps < 1)
    launch.options.numWarps.reset();
  // For dots without an explicit precision: recordings computed them in full
  // fp32.
  launch.f32Default = "ieee";
  return launch;
}

} // namespace tessera::cases
