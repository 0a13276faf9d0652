// language/Decorators.cpp - reads triton.jit, autotune and heuristics.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/Decorators.h"

#include "language/KnownNames.h"
#include "language/SignatureTuples.h"
#include "support/Error.h"
#include "support/LanguageGaps.h"
#include "support/Names.h"

#include <algorithm>

namespace tessera::language {

namespace {

class DecoratorReader {
public:
  DecoratorReader(const Program &program, const FunctionDef &function)
      : program(program), function(function) {}

  KernelInfo read() {
    diagnostics = function.problems.empty()
                      ? checkJitDecorators(program, function)
                      : function.problems;
    if (!diagnostics.empty())
      throw CompileError(std::move(diagnostics));
    info.function = &function;
    info.signature.kernel = function.name;
    for (const Parameter &parameter : function.parameters)
      guarded(
          [&] { addParameter(program, function, parameter, info.signature); });
    // The innermost decorator is the last one and applies first.
    for (auto it = function.decorators.rbegin();
         it != function.decorators.rend(); ++it)
      guarded([&] { readDecorator(**it); });
    info.hints = readHints(program, function, info.signature, diagnostics);
    if (!diagnostics.empty())
      throw CompileError(std::move(diagnostics));
    return std::move(info);
  }

private:
  template <typename Action>
  void guarded(Action action) {
    try {
      action();
    } catch (const CompileError &error) {
      diagnostics.insert(diagnostics.end(), error.diagnostics.begin(),
                         error.diagnostics.end());
    }
  }

  void report(const SourceRange &range, std::string message, std::string hint) {
    diagnostics.push_back(
        Diagnostic::make(DiagnosticId::InvalidDecorator, function.file, range,
                         std::move(message), std::move(hint)));
  }

  Value value(const Expr &expr) {
    return evaluate(expr, program.scope(function), function.file);
  }

  void readDecorator(const Expr &expr) {
    const auto *call = expr.as<Call>();
    const Expr &head = call ? *call->function : expr;
    const std::string path = pathOf(head);
    if (path == "triton.jit" || path == "triton.runtime.jit.jit") {
      if (call)
        readJit(*call);
    } else if (path == "triton.autotune" && call) {
      readAutotune(*call);
    } else if (path == "triton.heuristics" && call) {
      readHeuristics(*call);
    } else if (path.ends_with(".jit")) {
      if (call) // a package that exports Triton's decorator
        readJit(*call);
    } else if (path.starts_with("triton.")) {
      report(expr.range, "unknown decorator `" + path + "`",
             "use triton.jit, triton.autotune(...) or "
             "triton.heuristics(...)");
    } else if (info.unreadConfigs.empty()) {
      // It may wrap the launch and set constexprs there.
      info.unreadConfigs =
          "the decorator `" + dump(head) + "` is Python that is not run";
    }
  }

  // Returns the path of a library's member; empty for other decorators.
  std::string pathOf(const Expr &head) {
    try {
      const Value named = value(head);
      const auto *name = named.get<Value::Named>();
      return name ? name->path : "";
    } catch (const CompileError &) {
      return "";
    }
  }

  bool knownKeyword(const Keyword &keyword,
                    const std::vector<std::string> &known,
                    const std::string &what) {
    if (keyword.name.empty())
      return false; // `**more`: options of Triton's tuner
    if (std::find(known.begin(), known.end(), keyword.name) != known.end())
      return true;
    report(keyword.range, what + " has no keyword `" + keyword.name + "`",
           nearestNameHint(keyword.name, known, "keywords"));
    return false;
  }

  KernelParameter *parameterOf(const SourceRange &range,
                               const std::string &name) {
    int index = info.signature.find(name);
    if (index >= 0)
      return &info.signature.parameters[size_t(index)];
    std::vector<std::string> names;
    for (const KernelParameter &parameter : info.signature.parameters)
      names.push_back(parameter.name);
    report(range, "the kernel has no parameter `" + name + "`",
           nearestNameHint(name, names, "parameters"));
    return nullptr;
  }

  // Marks parameters given by name or, as Triton allows, by index. As in
  // Triton, a name that is not a parameter is ignored. Values of a tuple are
  // not marked.
  void markParameters(const Keyword &keyword, bool KernelParameter::*mark) {
    Value list = value(*keyword.value);
    const std::vector<Value> *items = list.sequence();
    if (!items)
      return report(keyword.range, "`" + keyword.name + "` is not a list",
                    "write " + keyword.name + "=[\"T\"]");
    for (const Value &item : *items) {
      if (const auto *name = item.get<std::string>()) {
        if (const int at = info.signature.find(*name); at >= 0)
          info.signature.parameters[size_t(at)].*mark = true;
      } else if (auto index = item.asInt();
                 index && *index >= 0 &&
                 *index < Int(function.parameters.size())) {
        const std::string &name = function.parameters[size_t(*index)].name;
        if (const int at = info.signature.find(name); at >= 0)
          info.signature.parameters[size_t(at)].*mark = true;
      } else {
        report(keyword.range,
               "`" + keyword.name + "` has a member that is not a parameter",
               "list names of parameters");
      }
    }
  }

  void readJit(const Call &call) {
    static const std::vector<std::string> known = {
        "do_not_specialize",
        "do_not_specialize_on_alignment",
        "noinline",
        "debug",
        "repr",
        "launch_metadata",
        "version"};
    for (const Keyword &keyword : call.keywords) {
      if (!knownKeyword(keyword, known, "triton.jit"))
        continue;
      if (keyword.name == "do_not_specialize")
        markParameters(keyword, &KernelParameter::doNotSpecialize);
      else if (keyword.name == "do_not_specialize_on_alignment")
        markParameters(keyword, &KernelParameter::doNotSpecializeAlignment);
      else if (keyword.name == "debug")
        info.debug = value(*keyword.value).truth();
    }
  }

  void readAutotune(const Call &call) {
    static const std::vector<std::string> known = {
        "configs",        "key",           "prune_configs_by",
        "reset_to_zero",  "restore_value", "pre_hook",
        "post_hook",      "warmup",        "rep",
        "use_cuda_graph", "do_bench",      "cache_results"};
    auto use = [&](const std::string &name, const Expr &expr) {
      if (name == "configs")
        readConfigs(expr);
      else if (name == "key")
        readKey(expr);
    };
    for (size_t i = 0; i < call.arguments.size() && i < 2; ++i)
      use(known[i], *call.arguments[i]);
    for (const Keyword &keyword : call.keywords)
      if (knownKeyword(keyword, known, "triton.autotune"))
        use(keyword.name, *keyword.value);
  }

  // Reads the configurations. Those that a function of the file computes are
  // used by the tuner only; a launch that gives every constexpr does not need
  // them.
  void readConfigs(const Expr &expr) {
    Value list;
    try {
      list = value(expr);
    } catch (const CompileError &error) {
      if (expr.is<ListExpr>())
        throw;
      info.unreadConfigs = error.diagnostics.front().message;
      return;
    }
    const std::vector<Value> *items = list.sequence();
    if (!items || items->empty())
      return report(expr.range, "`configs` is not a list of triton.Config",
                    "write configs=[triton.Config({\"BM\": 64})]");
    for (const Value &item : *items) {
      const auto *config = item.get<Value::Config>();
      if (!config)
        return report(expr.range, "`configs` holds a " + item.kindName(),
                      "every entry is a triton.Config({...})");
      for (const auto &[name, constant] : config->constexprs)
        if (const KernelParameter *parameter = parameterOf(expr.range, name);
            parameter && !parameter->isConstexpr)
          report(expr.range, "`" + name + "` is not a tl.constexpr",
                 "a configuration sets constexprs only");
      info.configs.push_back(*config);
    }
  }

  void readKey(const Expr &expr) {
    Value list = value(expr);
    const std::vector<Value> *items = list.sequence();
    if (!items)
      return report(expr.range, "`key` is not a list", "write key=[\"S\"]");
    for (const Value &item : *items) {
      const auto *name = item.get<std::string>();
      if (!name)
        return report(expr.range, "`key` has a member that is not a string",
                      "list names of parameters");
      // As Triton does, ignores names that are not parameters.
      if (info.signature.find(*name) >= 0)
        info.key.push_back(*name);
    }
  }

  void readHeuristics(const Call &call) {
    const Expr *argument = nullptr;
    if (!call.arguments.empty())
      argument = call.arguments[0].get();
    for (const Keyword &keyword : call.keywords)
      if (knownKeyword(keyword, {"values"}, "triton.heuristics"))
        argument = keyword.value.get();
    if (const auto *display = argument ? argument->as<DictExpr>() : nullptr;
        display && std::find(display->keys.begin(), display->keys.end(),
                             nullptr) == display->keys.end()) {
      for (size_t i = 0; i < display->values.size(); ++i)
        readHeuristic(call.range, value(*display->keys[i]),
                      *display->values[i]);
      return;
    }
    Value values;
    try {
      values = argument ? value(*argument) : Value();
    } catch (const CompileError &error) {
      info.unreadConfigs = error.diagnostics.front().message;
      return;
    }
    const auto *dict = values.get<Value::Dict>();
    if (!dict)
      return report(call.range, "triton.heuristics takes a dict of lambdas",
                    "write {\"EVEN\": lambda args: args[\"S\"] % 64 == 0}");
    for (const auto &[key, function] : dict->items)
      addHeuristic(call.range, key, function);
  }

  // Reads a heuristic. If only Python can evaluate it, a launch that does not
  // give the parameter fails.
  void readHeuristic(const SourceRange &range, const Value &key,
                     const Expr &expr) {
    Value function;
    try {
      function = value(expr);
    } catch (const CompileError &error) {
      const auto *name = key.get<std::string>();
      if (name && isParameterOfHeuristic(range, *name))
        info.heuristics.push_back(
            {*name, Value(), dump(expr), error.diagnostics.front().message});
      return;
    }
    addHeuristic(range, key, function);
  }

  void addHeuristic(const SourceRange &range, const Value &key,
                    const Value &function) {
    const auto *name = key.get<std::string>();
    const auto *known = function.get<Value::Function>();
    const size_t count = !known          ? size_t(isNamed(function))
                         : known->lambda ? known->lambda->parameters.size()
                                         : known->def->parameters.size();
    if (!name || count != 1)
      return report(range, "a heuristic is a lambda of one argument",
                    "write {\"" + (name ? *name : std::string("EVEN")) +
                        "\": lambda args: ...}; args[\"NAME\"] is an argument "
                        "of the launch");
    if (isParameterOfHeuristic(range, *name))
      info.heuristics.push_back(heuristicOf(*name, function));
  }

  // True if the value names a function that does not run at compile time.
  static bool isNamed(const Value &function) {
    return function.is<Value::Named>() || function.is<Value::KernelFunction>();
  }

  // True if the name is a parameter. Reports an option of the launch, which
  // heuristics of Triton may also choose.
  bool isParameterOfHeuristic(const SourceRange &range,
                              const std::string &name) {
    if (name != "num_warps" && name != "num_stages" && name != "num_ctas")
      return parameterOf(range, name) != nullptr;
    diagnostics.push_back(Diagnostic::make(
        DiagnosticId::UnsupportedSyntax, function.file, range,
        "a heuristic that chooses `" + name +
            "` is not supported in a kernel file",
        "pass it at the launch or in a triton.Config, or launch the kernel "
        "through tessera.jit"));
    return false;
  }

  static Heuristic heuristicOf(const std::string &name, const Value &function) {
    if (const auto *known = function.get<Value::Function>())
      return {name, function,
              known->lambda ? dump(*known->lambda) : dump(*known->def), ""};
    const std::string path = function.repr();
    return {name, Value(), path,
            "`" + path + "` is code around the kernel that is not run"};
  }

  const Program &program;
  const FunctionDef &function;
  KernelInfo info;
  std::vector<Diagnostic> diagnostics;
};

} // namespace

KernelInfo describeKernel(const Program &program, const FunctionDef &function) {
  return DecoratorReader(program, function).read();
}

Value applyHeuristic(
    const KernelInfo &kernel, const Heuristic &heuristic,
    const std::vector<std::pair<std::string, Value>> &arguments) {
  if (!heuristic.unread.empty())
    throw Error(
        "kernel `" + kernel.function->name +
            "` needs a value for the constexpr `" + heuristic.parameter +
            "`: " + heuristic.unread,
        "pass it at the launch, or write the heuristic as a lambda or a "
        "function of arithmetic");
  Value::Dict dict;
  for (const auto &[name, value] : arguments)
    dict.items.emplace_back(Value(name), value);
  for (const TupleParameter &tuple : kernel.signature.tuples)
    dict.items.emplace_back(
        Value(tuple.name),
        tupleOfLeaves(kernel.signature, tuple, [&](const std::string &leaf) {
          for (const auto &[name, value] : arguments)
            if (name == leaf)
              return value;
          return Value();
        }));
  return call(heuristic.function, {Value(std::move(dict))},
              kernel.function->file);
}

std::vector<ListedKernel> listKernels(const Program &program) {
  using Outcome = ListedKernel::Outcome;
  std::vector<ListedKernel> found;
  for (const StmtPtr &stmt : program.main().body) {
    const auto *function = stmt->as<FunctionDef>();
    if (!function || !function->isJit)
      continue;
    ListedKernel &kernel = found.emplace_back();
    kernel.function = function;
    try {
      kernel.info = describeKernel(program, *function);
    } catch (const CompileError &error) {
      kernel.problems = error.diagnostics;
      const bool isGap = std::all_of(
          kernel.problems.begin(), kernel.problems.end(),
          [](const Diagnostic &problem) { return isLanguageGap(problem.id); });
      kernel.outcome = isGap ? Outcome::Unsupported : Outcome::Error;
    }
  }
  for (const StmtPtr &stmt : program.main().nested) {
    ListedKernel &kernel = found.emplace_back();
    kernel.function = stmt->as<FunctionDef>();
    kernel.outcome = Outcome::Unsupported;
    kernel.problems = {Diagnostic::make(
        DiagnosticId::UnsupportedSyntax, program.main().file,
        kernel.function->nameRange,
        "`" + kernel.function->name + "` is defined inside a function or class",
        "move it to the top of the file, or launch it through tessera.jit")};
  }
  return found;
}

} // namespace tessera::language
