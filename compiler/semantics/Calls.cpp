// compiler/semantics/Calls.cpp - calls of builtins, inlining of helpers.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Lowering.h"

#include "support/Names.h"

namespace tessera::semantics {

constexpr size_t kMaxCallDepth = 64;

std::vector<Argument> Lowering::arguments(const language::Call &expr) {
  std::vector<Argument> result;
  for (const language::ExprPtr &argument : expr.arguments) {
    auto *starred = argument->as<language::Starred>();
    if (!starred) {
      result.push_back({"", evaluate(*argument), argument->range});
      continue;
    }
    Value spread = evaluate(*starred->value);
    if (!spread.tupleValues())
      fail(DiagnosticId::BadUnpacking, argument->range,
           "only a tuple can be spread with *, got " + spread.describe(),
           spread.aggregate()
               ? fieldsHint(spread, quoteOperand(starred->value->range))
               : "write the arguments out");
    for (const Value &item : *spread.tupleValues())
      result.push_back({"", item, argument->range});
  }
  for (const language::Keyword &keyword : expr.keywords) {
    if (keyword.name.empty())
      fail(DiagnosticId::NotSupported, keyword.range,
           "`**` in a call is not supported", "write the arguments out");
    result.push_back({keyword.name, evaluate(*keyword.value), keyword.range});
  }
  return result;
}

void Lowering::failNotCallable(const language::Call &expr,
                               const Value &function) {
  const bool isType = function.constant() && function.constant()->isType();
  std::string hint = "is an operator missing before the bracket?";
  if (isType && expr.arguments.size() == 1)
    hint = "convert with " + quoteOperand(expr.arguments[0]->range) + ".to(" +
           quote(expr.function->range, "tl.float32") + ")";
  else if (isType)
    hint = "convert with .to(...) or tl.cast";
  else if (function.as<ModuleRef>())
    hint = "call a function of the module";
  else if (function.isNone())
    hint = "the argument was not given";
  fail(DiagnosticId::NotCallable, expr.function->range,
       (isType ? "the type " + toString(function.constant()->type())
               : function.describe()) +
           " cannot be called",
       hint);
}

static std::string signatureOf(const language::FunctionDef &callee) {
  std::string text;
  for (const language::Parameter &parameter : callee.parameters)
    text += (text.empty() ? "" : ", ") + parameter.name +
            (parameter.defaultValue ? "=..." : "");
  return "it is " + callee.name + "(" + text + ")";
}

Value Lowering::call(const language::Call &expr) {
  Value function = evaluate(*expr.function);
  // tl.dtype names the class in isinstance(x, tl.dtype); its call makes a type.
  if (auto *module = function.as<ModuleRef>();
      module && module->path == "tl.dtype")
    function = BuiltinRef{Registry::get().find("dtype"), nullptr};
  auto *callee = function.as<FunctionRef>();
  auto *builtin = function.as<BuiltinRef>();
  if (!callee && !builtin)
    failNotCallable(expr, function);
  if (builtin)
    checkOnElements(*builtin->builtin, expr.function->range);
  std::vector<Argument> given = arguments(expr);
  const auto *method = expr.function->as<language::Attribute>();
  if (const auto &self = callee ? callee->self : builtin->self)
    given.insert(given.begin(), Argument{"", *self,
                                         method ? method->value->range
                                                : expr.function->range});
  if (callee)
    return inlineCall(*callee->def, std::move(given), expr.range);
  if (builtin->builtin->name == "aggregate_replace")
    return replaceFields(std::move(given), expr.range);
  BuiltinCall bound(emit, *builtin->builtin, std::move(given));
  return builtin->builtin->emit(bound);
}

Value Lowering::call(const Value &function, std::vector<Value> arguments,
                     const SourceRange &range) {
  std::vector<Argument> given;
  if (auto *callee = function.as<FunctionRef>(); callee && callee->self)
    given.push_back({"", *callee->self, range});
  for (Value &argument : arguments)
    given.push_back({"", std::move(argument), range});
  if (auto *callee = function.as<FunctionRef>())
    return inlineCall(*callee->def, std::move(given), range);
  auto *builtin = function.as<BuiltinRef>();
  if (!builtin)
    fail(DiagnosticId::NotCallable, range,
         function.describe() + " cannot be called",
         "pass a @triton.jit function");
  BuiltinCall bound(emit, *builtin->builtin, std::move(given));
  return builtin->builtin->emit(bound);
}

void Lowering::bindParameters(const language::FunctionDef &callee,
                              std::vector<Argument> given, Frame &inner) {
  const auto &parameters = callee.parameters;
  size_t next = 0;
  for (Argument &argument : given) {
    size_t index = parameters.size();
    if (argument.keyword.empty()) {
      index = next++;
      if (index < parameters.size() && parameters[index].isKeywordOnly)
        fail(DiagnosticId::TooManyArguments, argument.range,
             "`" + callee.name + "` takes " + std::to_string(index) +
                 " positional arguments",
             "write " + parameters[index].name + "=...");
      if (index >= parameters.size())
        fail(DiagnosticId::TooManyArguments, argument.range,
             "`" + callee.name + "` takes " +
                 std::to_string(parameters.size()) + " arguments, got " +
                 std::to_string(given.size()),
             signatureOf(callee));
    } else {
      std::vector<std::string> names;
      for (size_t i = 0; i < parameters.size(); ++i) {
        names.push_back(parameters[i].name);
        if (parameters[i].name == argument.keyword)
          index = i;
      }
      if (index == parameters.size())
        fail(DiagnosticId::UnknownKeyword, argument.range,
             "`" + callee.name + "` has no argument `" + argument.keyword + "`",
             nearestNameHint(argument.keyword, names, "arguments"));
      if (inner.scope.count(argument.keyword))
        fail(DiagnosticId::DuplicateArgument, argument.range,
             "`" + argument.keyword + "` is given twice",
             "its place gave it a value already: " + signatureOf(callee));
    }
    const language::Parameter &parameter = parameters[index];
    inner.scope[parameter.name] = {std::move(argument.value), parameter.range};
  }
  std::vector<const language::Parameter *> missing;
  for (const language::Parameter &parameter : parameters)
    if (!inner.scope.count(parameter.name))
      missing.push_back(&parameter);
  for (const language::Parameter *parameter : missing)
    if (!parameter->defaultValue)
      fail(DiagnosticId::MissingArgument, emit.site.range,
           "`" + callee.name + "` needs `" + parameter->name + "`",
           signatureOf(callee));
  if (missing.empty())
    return;
  // Default values are evaluated in the module of the callee, without its
  // parameters.
  Frame outside;
  outside.function = &callee;
  outside.file = inner.file;
  outside.callRange = inner.callRange;
  outside.callLocation = inner.callLocation;
  Entered entered(*this, outside);
  for (const language::Parameter *parameter : missing)
    inner.scope[parameter->name] = {evaluate(*parameter->defaultValue),
                                    parameter->range};
}

void Lowering::failDynamicArgument(const language::FunctionDef &callee,
                                   const Argument &argument) {
  if (callee.isPlain)
    fail(DiagnosticId::NotSupported, emit.site.range,
         "`" + callee.name + "` is not a kernel function",
         "decorate it with @triton.jit");
  fail(DiagnosticId::NotConstexpr, argument.range,
       "`" + callee.name + "` runs while compiling, but this is " +
           argument.value.describe(),
       "pass a tl.constexpr value, or make it a @triton.jit function");
}

Lowering::Frame Lowering::newFrame(const language::FunctionDef &callee,
                                   const SourceRange &range) {
  if (frames.size() > kMaxCallDepth)
    fail(DiagnosticId::CallDepth, range,
         "more than " + std::to_string(kMaxCallDepth) +
             " calls inside each other",
         "helpers are inlined; use a loop");
  Frame inner;
  inner.function = &callee;
  inner.file = callee.file ? callee.file : frame().file;
  inner.callRange = range;
  inner.callLocation = emit.location();
  return inner;
}

Value Lowering::inlineCall(const language::FunctionDef &callee,
                           std::vector<Argument> given,
                           const SourceRange &range) {
  At at(*this, range);
  if (!callee.problems.empty())
    throw CompileError(callee.problems);
  const bool compileTime = callee.isConstexpr || callee.isPlain;
  if (callee.isNamedTuple)
    return makeFields(callee, std::move(given), range);
  if (!callee.isJit && !compileTime)
    fail(DiagnosticId::NotSupported, range,
         "`" + callee.name + "` is not a kernel function",
         "decorate it with @triton.jit");
  for (const Frame *active : frames)
    if (active->function == &callee)
      fail(DiagnosticId::RecursiveCall, range,
           "`" + callee.name + "` calls itself",
           "helpers are inlined; use a loop");
  Frame inner = newFrame(callee, range);
  if (compileTime)
    for (const Argument &argument : given)
      if (argument.value.isDynamic())
        failDynamicArgument(callee, argument);
  bindParameters(callee, std::move(given), inner);
  inner.compileTime = compileTime;
  Entered entered(*this, inner);
  At inside(*this, callee.nameRange);
  if (compileTime) {
    Outcome outcome;
    runAtCompileTime(callee.body, outcome);
    if (outcome.value.isDynamic())
      fail(DiagnosticId::NotConstexpr, outcome.range,
           "`" + callee.name + "` runs while compiling, but it returns " +
               outcome.value.describe(),
           "make it a @triton.jit function");
    return outcome.value;
  }
  Outcome outcome = run(Rest{&callee.body, 0, nullptr});
  return outcome.returned ? outcome.value : Value::none();
}

} // namespace tessera::semantics
