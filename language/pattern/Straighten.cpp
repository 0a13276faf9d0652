// language/pattern/Straighten.cpp - evaluates a function's body symbolically.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/pattern/Straighten.h"

#include "language/pattern/RunTimeNumbers.h"
#include "support/Error.h"
#include "support/Names.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace tessera::language {

namespace {

// Thrown at a compile-time condition that the path does not decide yet.
struct Undecided {
  SymbolPtr condition;
};
// Thrown where a predicate contains something that the analysis does not
// support.
struct Unclear {};

constexpr size_t maxInlinedCalls = 16;
constexpr size_t maxSymbolSize = 2000;

constexpr std::array knownFunctions = {
    "abs",     "ceil",  "cdiv",    "cos",
    "exp",     "exp2",  "floor",   "int",
    "log",     "log2",  "max",     "min",
    "maximum", "rsqrt", "minimum", "next_power_of_2",
    "sigmoid", "sin",   "sqrt",    "tan",
    "tanh",    "where"};

bool isKnownFunction(std::string_view name) {
  return std::find(knownFunctions.begin(), knownFunctions.end(), name) !=
         knownFunctions.end();
}

bool readsMemory(std::string_view name) {
  return name == "load" || name == "store" || name == "advance" ||
         name.starts_with("atomic_") || name.ends_with("_descriptor") ||
         name == "make_block_ptr" || name == "gather";
}

// True for a function that returns nothing.
bool isStatementOnly(std::string_view name) {
  return name.starts_with("static_") || name.starts_with("device_") ||
         name == "assume";
}

using Environment = std::map<std::string, SymbolPtr>;

class Straightener {
public:
  Straightener(const Module &module, const FunctionDef &function,
               const StraightenOptions &options)
      : module(module), root(function), options(options) {
    for (const Parameter &parameter : function.parameters)
      if (!parameter.isConstexpr)
        runTime.push_back(parameter.name);
  }

  StraightPath explore() {
    StraightPath path;
    try {
      Environment names;
      for (const Parameter &parameter : root.parameters)
        names[parameter.name] = valueOf(parameter);
      path.result = run(root, std::move(names));
      if (path.result->kind == SymbolKind::Constant &&
          path.result->value.isNone())
        fail(root.nameRange, "returns None on one of its paths",
             "return a value at the end of each path");
      if (++leaves > maxStraightPaths)
        fail(root.nameRange, "has more than " +
                                 std::to_string(maxStraightPaths) +
                                 " combinations of compile-time conditions");
    } catch (const Undecided &undecided) {
      const std::string key = printText(undecided.condition);
      path.condition = undecided.condition;
      decisions[key] = true;
      path.yes = std::make_unique<StraightPath>(restart());
      decisions[key] = false;
      path.no = std::make_unique<StraightPath>(restart());
      decisions.erase(key);
    }
    return path;
  }

private:
  SymbolPtr valueOf(const Parameter &parameter) const {
    if (options.values)
      if (const auto given = options.values->find(parameter.name);
          given != options.values->end())
        return makeConstant(given->second, parameter.range);
    return makeName(parameter.name, parameter.range);
  }

  StraightPath restart() {
    calls.clear();
    current = nullptr;
    return explore();
  }

  [[noreturn]] void fail(const SourceRange &range,
                         const std::string &what) const {
    fail(range, what, options.remedy);
  }

  [[noreturn]] void fail(const SourceRange &range, const std::string &what,
                         const std::string &remedy) const {
    Diagnostic diagnostic = Diagnostic::make(
        DiagnosticId::UnsupportedSyntax, current ? current->file : root.file,
        range, "`" + root.name + "` " + what, remedy);
    diagnostic.callers.assign(calls.rbegin(), calls.rend());
    throw CompileError({std::move(diagnostic)});
  }

  SymbolPtr run(const FunctionDef &function, Environment names) {
    if (!function.problems.empty())
      throw CompileError(function.problems);
    const FunctionDef *caller = std::exchange(current, &function);
    SymbolPtr result;
    try {
      if (auto returned = block(function.body, names))
        result = *returned;
    } catch (const Unclear &) {
      if (!options.isPredicate)
        throw;
      result = std::make_shared<Symbol>();
    }
    if (!result)
      fail(function.nameRange, "does not return a value");
    checkSize(*result, function.nameRange);
    current = caller;
    return result;
  }

  // Statements. Each returns the value of an executed `return`, otherwise
  // nullopt.
  std::optional<SymbolPtr> block(const Block &body, Environment &names) {
    for (const StmtPtr &stmt : body)
      if (auto returned = statement(*stmt, names))
        return returned;
    return std::nullopt;
  }

  std::optional<SymbolPtr> statement(const Stmt &stmt, Environment &names) {
    if (const auto *result = stmt.as<Return>()) {
      if (!result->value)
        fail(stmt.range, "does not return a value");
      return runTimeNumber(expr(*result->value, names));
    }
    if (const auto *assign = stmt.as<Assign>()) {
      for (const ExprPtr &target : assign->targets)
        bind(*target, *assign->value, names);
    } else if (const auto *annotated = stmt.as<AnnAssign>()) {
      if (annotated->value)
        bind(*annotated->target, *annotated->value, names,
             lastName(*annotated->annotation) == "constexpr");
    } else if (const auto *augmented = stmt.as<AugAssign>()) {
      const SymbolPtr old = expr(*augmented->target, names);
      setName(*augmented->target,
              runTimeNumber(binary(augmented->op, old,
                                   expr(*augmented->value, names), stmt.range)),
              names);
    } else if (const auto *branch = stmt.as<If>()) {
      return block(decide(*branch->test, names) ? branch->body : branch->orelse,
                   names);
    } else if (const auto *plain = stmt.as<ExprStmt>()) {
      const auto *call = plain->value->as<Call>();
      if (call && !isStatementOnly(lastName(*call->function)))
        expr(*call, names);
    } else if (!stmt.is<Pass>() && !stmt.is<Assert>()) {
      fail(stmt.range, "has a statement that the derivation does not follow");
    }
    return std::nullopt;
  }

  void setName(const Expr &target, SymbolPtr value, Environment &names) {
    const auto *name = target.as<Name>();
    if (!name)
      fail(target.range, "assigns to something other than a name");
    checkSize(*value, target.range);
    names[name->id] = std::move(value);
  }

  void checkSize(const Symbol &value, const SourceRange &range) const {
    if (value.size > maxSymbolSize)
      fail(range, "has an expression of more than " +
                      std::to_string(maxSymbolSize) + " operations");
  }

  // Makes a compile-time number a run-time number when a name or a `return`
  // receives it.
  SymbolPtr runTimeNumber(SymbolPtr value) const {
    return hasCompileTimeText(*value, runTime) ? makeRunTime(value) : value;
  }

  SymbolPtr binary(BinaryOp op, SymbolPtr a, SymbolPtr b,
                   const SourceRange &range) const {
    if (op == BinaryOp::FloorDiv || op == BinaryOp::Mod)
      if (isTruncated(*a, *b))
        return truncatedDivision(op, a, b, range);
    return makeBinary(op, std::move(a), std::move(b), range);
  }

  // True if the kernel divides numbers of the run time and the derived text
  // would divide compile-time values.
  bool isTruncated(const Symbol &a, const Symbol &b) const {
    return (a.isRunTime || b.isRunTime) && hasCompileTimeText(a, runTime) &&
           hasCompileTimeText(b, runTime);
  }

  void bind(const Expr &target, const Expr &value, Environment &names,
            bool isConstexpr = false) {
    const auto *targets = target.as<TupleExpr>();
    if (!targets) {
      const SymbolPtr result = expr(value, names);
      return setName(target, isConstexpr ? result : runTimeNumber(result),
                     names);
    }
    const auto *values = value.as<TupleExpr>();
    if (!values || values->elements.size() != targets->elements.size())
      fail(value.range, "unpacks a value that is not written as a tuple");
    std::vector<SymbolPtr> results;
    for (const ExprPtr &element : values->elements)
      results.push_back(expr(*element, names));
    for (size_t i = 0; i < results.size(); ++i)
      setName(*targets->elements[i], runTimeNumber(results[i]), names);
  }

  // Returns the truth of a compile-time condition. Throws Undecided if the path
  // does not decide it yet.
  bool decide(const Expr &test, Environment &names) {
    const SymbolPtr condition = expr(test, names);
    if (!isCompileTime(*condition)) {
      if (options.isPredicate)
        throw Unclear();
      fail(test.range, "has an `if` on a value of the run time");
    }
    return truth(condition);
  }

  bool truth(const SymbolPtr &condition) const {
    if (condition->kind == SymbolKind::Constant)
      return condition->value.truth();
    if (condition->kind == SymbolKind::Not)
      return !truth(condition->operands[0]);
    if (condition->kind == SymbolKind::Compare) {
      const CompareOp op = condition->compare;
      // Normalizes each pair of comparisons, so that `a > 0` also decides `a <=
      // 0`.
      if (op == CompareOp::Ne || op == CompareOp::Le || op == CompareOp::Ge)
        return !truth(makeCompare(negated(op), condition->operands[0],
                                  condition->operands[1], condition->range));
    }
    const auto known = decisions.find(printText(condition));
    if (known == decisions.end())
      throw Undecided{condition};
    return known->second;
  }

  bool isCompileTime(const Symbol &symbol) const {
    return !mentions(symbol, runTime);
  }

  // Expressions.
  SymbolPtr expr(const Expr &node, Environment &names) {
    switch (node.kind) {
    case ExprKind::Name:
      return name(node.to<Name>(), names);
    case ExprKind::Constant:
      return makeConstant(node.to<Constant>().value, node.range);
    case ExprKind::BinOp: {
      SymbolPtr left = expr(*node.to<BinOp>().left, names);
      return binary(node.to<BinOp>().op, std::move(left),
                    expr(*node.to<BinOp>().right, names), node.range);
    }
    case ExprKind::UnaryOp:
      return unary(node.to<UnaryOpExpr>(), names);
    case ExprKind::BoolOp:
      return logic(node.to<BoolOp>(), names);
    case ExprKind::Compare:
      return compare(node.to<Compare>(), names);
    case ExprKind::IfExp:
      return choice(node.to<IfExp>(), names);
    case ExprKind::Call:
      return call(node.to<Call>(), names);
    default:
      fail(node.range, "has an expression that the derivation does not follow");
    }
  }

  SymbolPtr name(const Name &node, const Environment &names) const {
    if (const auto known = names.find(node.id); known != names.end())
      return known->second;
    if (isModuleConstant(module, node.id))
      return makeName(node.id, node.range);
    std::vector<std::string> known = moduleNames(module);
    for (const auto &[other, value] : names)
      known.push_back(other);
    const std::string nearest = nearestName(node.id, known);
    fail(node.range, "uses `" + node.id + "`, which is not defined",
         nearest.empty() ? options.remedy : "did you mean `" + nearest + "`?");
  }

  SymbolPtr unary(const UnaryOpExpr &node, Environment &names) {
    SymbolPtr operand = expr(*node.operand, names);
    switch (node.op) {
    case UnaryOp::Pos:
      return operand;
    case UnaryOp::Neg:
      return makeUnary(SymbolKind::Negate, std::move(operand), node.range);
    case UnaryOp::Invert:
      return inverted(std::move(operand), node.range);
    case UnaryOp::Not:
      return makeUnary(SymbolKind::Not, std::move(operand), node.range);
    }
    return operand;
  }

  // `~` negates a run-time bool. For a compile-time bool, Python returns an
  // integer: ~True is -2, which is true.
  SymbolPtr inverted(SymbolPtr operand, const SourceRange &range) const {
    if (!hasCompileTimeText(*operand, runTime) ||
        !isTruthValue(*operand, options.bools))
      return makeUnary(SymbolKind::Invert, std::move(operand), range);
    if (!operand->isRunTime)
      fail(range, "inverts a compile-time bool, whose `~` is a number",
           "write `not " + print(*operand).in(Binding::Not) + "`");
    return makeUnary(SymbolKind::Not, std::move(operand), range);
  }

  SymbolPtr logic(const BoolOp &node, Environment &names) {
    SymbolPtr result = expr(*node.values[0], names);
    const auto kind =
        node.op == BoolOpKind::And ? SymbolKind::And : SymbolKind::Or;
    for (size_t i = 1; i < node.values.size(); ++i)
      result =
          makeLogic(kind, result, expr(*node.values[i], names), node.range);
    return result;
  }

  SymbolPtr compare(const Compare &node, Environment &names) {
    SymbolPtr left = expr(*node.left, names), result;
    for (size_t i = 0; i < node.ops.size(); ++i) {
      SymbolPtr right = expr(*node.comparators[i], names);
      SymbolPtr one = makeCompare(node.ops[i], left, right, node.range);
      result =
          result ? makeLogic(SymbolKind::And, result, one, node.range) : one;
      left = right;
    }
    return result;
  }

  SymbolPtr choice(const IfExp &node, Environment &names) {
    const SymbolPtr condition = expr(*node.test, names);
    if (isCompileTime(*condition))
      return expr(truth(condition) ? *node.body : *node.orelse, names);
    SymbolPtr yes = expr(*node.body, names);
    return makeChoice(condition, std::move(yes), expr(*node.orelse, names),
                      node.range);
  }

  static std::string lastName(const Expr &function) {
    if (const auto *attribute = function.as<Attribute>())
      return attribute->attribute;
    const auto *name = function.as<Name>();
    return name ? name->id : "";
  }

  // True for `tl` of `tl.abs`: a name that is neither a value nor a function.
  bool isLibrary(const Expr &node, const Environment &names) const {
    if (const auto *attribute = node.as<Attribute>())
      return isLibrary(*attribute->value, names);
    const auto *name = node.as<Name>();
    return name && !names.contains(name->id) &&
           !moduleConstant(module, name->id);
  }

  SymbolPtr call(const Call &node, Environment &names) {
    const auto *name = node.function->as<Name>();
    if (const FunctionDef *callee =
            name ? module.findFunction(name->id) : nullptr)
      return inlined(node, *callee, names);
    std::vector<SymbolPtr> operands;
    const auto *method = node.function->as<Attribute>();
    if (method && !isLibrary(*method->value, names)) {
      operands.push_back(expr(*method->value, names));
      if (method->attribute == "to")
        return cast(node, operands[0]);
    } else {
      method = nullptr;
    }
    const std::string last = lastName(*node.function);
    if (!method && last == "cast" && !node.arguments.empty())
      return cast(node, expr(*node.arguments[0], names));
    // tl.max is a reduction; Python's max compares two numbers.
    const bool isReduction = !name && (last == "max" || last == "min");
    const bool isKnown =
        isKnownFunction(last) && !isReduction && node.keywords.empty();
    if (!isKnown && options.isPredicate)
      fail(node.range, readsMemory(last)
                           ? "reads memory: it may depend on positions and "
                             "parameters only"
                           : "calls `" + dump(*node.function) +
                                 "`, which the derivation does not know");
    for (const ExprPtr &argument : node.arguments)
      operands.push_back(expr(*argument, names));
    if (last == "cdiv" && isKnown && operands.size() == 2 &&
        isTruncated(*operands[0], *operands[1]))
      return truncatedDivision(BinaryOp::FloorDiv,
                               makeBinary(BinaryOp::Sub,
                                          makeBinary(BinaryOp::Add, operands[0],
                                                     operands[1], node.range),
                                          makeConstant(Int(1)), node.range),
                               operands[1], node.range);
    if (isKnown)
      return makeCall(last, method ? "tl." + last : dump(*node.function),
                      std::move(operands), node.range);
    return unknownCall(node, method, std::move(operands), names);
  }

  SymbolPtr unknownCall(const Call &node, const Attribute *method,
                        std::vector<SymbolPtr> operands, Environment &names) {
    if (method)
      fail(node.range, "calls a method that the derivation does not know");
    for (const Keyword &keyword : node.keywords)
      operands.push_back(expr(*keyword.value, names));
    auto symbol = std::make_shared<Symbol>(SymbolKind::Call, node.range,
                                           std::move(operands));
    symbol->written = dump(*node.function);
    for (const Keyword &keyword : node.keywords)
      symbol->keywords.push_back(keyword.name);
    return symbol;
  }

  SymbolPtr cast(const Call &node, SymbolPtr operand) {
    const Expr *type =
        node.arguments.empty() ? nullptr : node.arguments.back().get();
    const auto known =
        type ? dtypeFromName(lastName(*type)) : std::optional<std::string>();
    if (!known)
      fail(node.range, "casts to a type that the derivation does not know");
    return makeCast(std::move(operand), *known, dump(*type), node.range);
  }

  SymbolPtr inlined(const Call &node, const FunctionDef &callee,
                    Environment &names) {
    if (calls.size() >= maxInlinedCalls)
      fail(node.range,
           "nests more than " + std::to_string(maxInlinedCalls) + " calls");
    Environment inner;
    auto give = [&](const std::string &parameter, const Expr &value) {
      inner[parameter] = expr(value, names);
    };
    const auto &parameters = callee.parameters;
    if (node.arguments.size() > parameters.size())
      fail(node.range, "calls `" + callee.name + "` with too many arguments");
    for (size_t i = 0; i < node.arguments.size(); ++i)
      give(parameters[i].name, *node.arguments[i]);
    for (const Keyword &keyword : node.keywords)
      give(keyword.name, *keyword.value);
    for (const Parameter &parameter : parameters)
      if (!inner.contains(parameter.name)) {
        if (!parameter.defaultValue)
          fail(node.range,
               "calls `" + callee.name + "` without `" + parameter.name + "`");
        give(parameter.name, *parameter.defaultValue);
      }
    calls.push_back({current->name, current->file, node.range});
    SymbolPtr result = run(callee, std::move(inner));
    calls.pop_back();
    return result;
  }

  const Module &module;
  const FunctionDef &root;
  const StraightenOptions &options;
  std::vector<std::string> runTime;
  std::map<std::string, bool> decisions;
  std::vector<CallSite> calls;
  const FunctionDef *current = nullptr;
  size_t leaves = 0;
};

} // namespace

StraightPath straighten(const Module &module, const FunctionDef &function,
                        const StraightenOptions &options) {
  return Straightener(module, function, options).explore();
}

const Expr *moduleConstant(const Module &module, std::string_view name) {
  auto binds = [&](const ExprPtr &target) {
    const auto *bound = target->as<Name>();
    return bound && bound->id == name;
  };
  for (const StmtPtr &stmt : module.body) {
    if (const auto *assign = stmt->as<Assign>()) {
      if (std::any_of(assign->targets.begin(), assign->targets.end(), binds))
        return assign->value.get();
    } else if (const auto *annotated = stmt->as<AnnAssign>()) {
      if (annotated->value && binds(annotated->target))
        return annotated->value.get();
    }
  }
  return nullptr;
}

std::vector<std::string> moduleNames(const Module &module) {
  std::vector<std::string> names;
  auto add = [&](const Expr &target) {
    if (const auto *name = target.as<Name>())
      names.push_back(name->id);
  };
  for (const StmtPtr &stmt : module.body) {
    if (const auto *assign = stmt->as<Assign>())
      for (const ExprPtr &target : assign->targets)
        add(*target);
    else if (const auto *annotated = stmt->as<AnnAssign>())
      add(*annotated->target);
    else if (const auto *import = stmt->as<Import>())
      names.push_back(import->alias);
    else if (const auto *imported = stmt->as<ImportFrom>())
      names.push_back(imported->alias);
    else if (const auto *function = stmt->as<FunctionDef>())
      names.push_back(function->name);
  }
  return names;
}

bool isModuleConstant(const Module &module, std::string_view name) {
  if (moduleConstant(module, name))
    return true;
  return std::any_of(module.body.begin(), module.body.end(),
                     [&](const StmtPtr &stmt) {
                       const auto *imported = stmt->as<ImportFrom>();
                       return imported && imported->alias == name;
                     });
}

} // namespace tessera::language
