// language/Evaluate.cpp - evaluates expressions at compile time.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/Evaluate.h"

#include "language/Arithmetic.h"
#include "language/HostFunction.h"
#include "support/Error.h"

namespace tessera::language {

std::optional<Value> MapScope::find(std::string_view name) const {
  if (auto found = values.find(name); found != values.end())
    return found->second;
  return parent ? parent->find(name) : std::nullopt;
}

namespace {

using ScopePtr = std::shared_ptr<const Scope>;

class Evaluator {
public:
  explicit Evaluator(std::shared_ptr<const SourceFile> file)
      : file(std::move(file)) {}

  Value evaluate(const Expr &expr, const ScopePtr &scope) {
    if (++steps > maxSteps)
      fail(expr, "the evaluation takes too long",
           "decorators and constants should be short");
    try {
      return visit(expr, scope);
    } catch (ValueProblem &problem) {
      fail(expr, std::move(problem.message), std::move(problem.hint));
    }
  }

  Value call(const Value &callee, const std::vector<Value> &arguments,
             const KeywordValues &keywords) {
    if (const auto *named = callee.get<Value::Named>())
      return callNamed(named->path, arguments, keywords);
    if (const auto *kernel = callee.get<Value::KernelFunction>())
      return callNamed(kernel->name, arguments, keywords);
    const auto *function = callee.get<Value::Function>();
    if (!function)
      throw ValueProblem{"a " + callee.kindName() + " is called",
                         "only functions can be called"};
    if (calls >= maxCalls)
      throw ValueProblem{"functions call themselves without end",
                         "write the value out"};
    if (function->def) {
      ++calls;
      Value result =
          runHostFunction(*function->def, function->scope, arguments, keywords,
                          [&](const Expr &expr, const ScopePtr &scope) {
                            return visitOf(*function->def, expr, scope);
                          });
      --calls;
      return result;
    }
    if (!keywords.empty() ||
        arguments.size() != function->lambda->parameters.size())
      throw ValueProblem{
          "wrong number of arguments for a lambda",
          "it takes " + std::to_string(function->lambda->parameters.size())};
    auto inner = std::make_shared<MapScope>();
    inner->parent = function->scope;
    for (size_t i = 0; i < arguments.size(); ++i)
      inner->values[function->lambda->parameters[i]] = arguments[i];
    ++calls;
    Value result = evaluate(*function->lambda->body, inner);
    --calls;
    return result;
  }

private:
  // Evaluates an expression of a function, which may be in another file.
  Value visitOf(const FunctionDef &function, const Expr &expr,
                const ScopePtr &scope) {
    std::shared_ptr<const SourceFile> caller =
        std::exchange(file, function.file);
    try {
      Value value = evaluate(expr, scope);
      file = caller;
      return value;
    } catch (...) {
      file = caller;
      throw;
    }
  }

  static constexpr unsigned maxSteps = 2000000, maxCalls = 20;

  [[noreturn]] void fail(const Expr &expr, std::string message,
                         std::string hint,
                         DiagnosticId id = DiagnosticId::InvalidConstant) {
    throw CompileError({Diagnostic::make(id, file, expr.range,
                                         std::move(message), std::move(hint))});
  }

  Value visit(const Expr &expr, const ScopePtr &scope) {
    switch (expr.kind) {
    case ExprKind::Name:
      return name(expr.to<Name>(), scope);
    case ExprKind::Constant:
      return expr.to<Constant>().value;
    case ExprKind::BinOp: {
      const auto &node = expr.to<BinOp>();
      Value left = evaluate(*node.left, scope);
      return applyBinary(node.op, left, evaluate(*node.right, scope));
    }
    case ExprKind::UnaryOp:
      return applyUnary(expr.to<UnaryOpExpr>().op,
                        evaluate(*expr.to<UnaryOpExpr>().operand, scope));
    case ExprKind::BoolOp:
      return boolOp(expr.to<BoolOp>(), scope);
    case ExprKind::Compare:
      return compare(expr.to<Compare>(), scope);
    case ExprKind::Call:
      return callExpr(expr.to<Call>(), scope);
    case ExprKind::Attribute:
      return attribute(expr.to<Attribute>(), scope);
    case ExprKind::Subscript:
      return subscript(expr.to<Subscript>(), scope);
    case ExprKind::Tuple:
      return Value::Tuple{elements(expr.to<TupleExpr>().elements, scope)};
    case ExprKind::List:
      return Value::List{elements(expr.to<ListExpr>().elements, scope)};
    case ExprKind::Dict:
      return dict(expr.to<DictExpr>(), scope);
    case ExprKind::IfExp: {
      const auto &node = expr.to<IfExp>();
      return evaluate(evaluate(*node.test, scope).truth() ? *node.body
                                                          : *node.orelse,
                      scope);
    }
    case ExprKind::Lambda:
      return Value::Function{&expr.to<Lambda>(), scope};
    case ExprKind::Comprehension:
      return comprehension(expr.to<Comprehension>(), scope);
    case ExprKind::JoinedStr: {
      const auto &node = expr.to<JoinedStr>();
      std::string text = node.texts[0];
      for (size_t i = 0; i < node.values.size(); ++i) {
        Value value = evaluate(*node.values[i], scope);
        const auto *plain = value.get<std::string>();
        text += (plain && !node.reprs[i] ? *plain : value.repr()) +
                node.texts[i + 1];
        if (text.size() > maxItems)
          fail(expr, "the text is too long", "make it shorter");
      }
      return text;
    }
    case ExprKind::Slice:
    case ExprKind::Starred:
      break;
    }
    fail(expr, "this expression has no value here", "write the value out");
  }

  Value name(const Name &node, const ScopePtr &scope) {
    if (scope)
      if (auto value = scope->find(node.id))
        return *value;
    if (auto value = pythonName(node.id))
      return *value;
    fail(node, "the name `" + node.id + "` has no value at compile time",
         "define it in the file, or write its value",
         DiagnosticId::UnknownConstant);
  }

  Value boolOp(const BoolOp &node, const ScopePtr &scope) {
    Value value;
    for (const ExprPtr &operand : node.values) {
      value = evaluate(*operand, scope);
      if (value.truth() == (node.op == BoolOpKind::Or))
        break;
    }
    return value;
  }

  Value compare(const Compare &node, const ScopePtr &scope) {
    Value left = evaluate(*node.left, scope);
    for (size_t i = 0; i < node.ops.size(); ++i) {
      Value right = evaluate(*node.comparators[i], scope);
      if (!applyCompare(node.ops[i], left, right))
        return false;
      left = std::move(right);
    }
    return true;
  }

  Value callExpr(const Call &node, const ScopePtr &scope) {
    Value callee = evaluate(*node.function, scope);
    std::vector<Value> arguments;
    for (const ExprPtr &argument : node.arguments)
      arguments.push_back(evaluate(*argument, scope));
    KeywordValues keywords;
    for (const Keyword &keyword : node.keywords) {
      if (keyword.name.empty())
        fail(*keyword.value, "`**` in a call that is evaluated",
             "write the arguments out");
      keywords.emplace_back(keyword.name, evaluate(*keyword.value, scope));
    }
    return call(callee, arguments, keywords);
  }

  Value attribute(const Attribute &node, const ScopePtr &scope) {
    Value value = evaluate(*node.value, scope);
    if (const auto *named = value.get<Value::Named>())
      return namedValue(named->path + "." + node.attribute);
    if (const auto *dtype = value.get<Value::DType>()) {
      // In heuristics, a pointer argument has the value of its element type.
      if (node.attribute == "dtype" || node.attribute == "element_ty")
        return *dtype;
      if (node.attribute == "name")
        return dtype->name;
    }
    if (const auto *tuple = value.get<Value::Tuple>())
      if (const Value *field = tuple->find(node.attribute))
        return *field;
    if (node.attribute == "value") // x.value of a tl.constexpr
      return value;
    fail(node,
         "a " + value.kindName() + " has no attribute `" + node.attribute +
             "` at compile time",
         "write the value out");
  }

  Value subscript(const Subscript &node, const ScopePtr &scope) {
    Value value = evaluate(*node.value, scope);
    Value index = evaluate(*node.index, scope);
    if (const auto *dict = value.get<Value::Dict>()) {
      for (const auto &[key, item] : dict->items)
        if (key.equals(index))
          return item;
      fail(node, "no key " + index.repr() + " in the dict",
           "check the spelling of the key");
    }
    const std::vector<Value> *items = value.sequence();
    auto number = index.asInt();
    if (!items || !number)
      fail(node,
           "a " + value.kindName() + " cannot be indexed by a " +
               index.kindName(),
           "index a list or tuple by an int, a dict by a key");
    Int size = Int(items->size());
    Int place = *number < 0 ? *number + size : *number;
    if (place < 0 || place >= size)
      fail(node, "the index is out of range",
           "there are " + printInt(size) + " elements");
    return (*items)[size_t(place)];
  }

  void grow(const Expr &expr, size_t size) {
    if (size > maxItems)
      fail(expr, "the list is too long", "make it shorter");
  }

  std::vector<Value> elements(const std::vector<ExprPtr> &list,
                              const ScopePtr &scope) {
    std::vector<Value> result;
    size_t items = 0;
    for (const ExprPtr &expr : list) {
      const auto *starred = expr->as<Starred>();
      const size_t before = result.size();
      if (!starred)
        result.push_back(evaluate(*expr, scope));
      else
        for (const Value &item : iterate(*starred->value, scope))
          result.push_back(item);
      for (size_t i = before; i < result.size(); ++i)
        items += itemsIn(result[i]);
      grow(*expr, items);
    }
    return result;
  }

  static void insert(Value::Dict &dict, Value key, Value value) {
    for (auto &[other, old] : dict.items)
      if (other.equals(key)) {
        old = std::move(value);
        return;
      }
    dict.items.emplace_back(std::move(key), std::move(value));
  }

  Value dict(const DictExpr &node, const ScopePtr &scope) {
    Value::Dict result;
    size_t items = 0;
    for (size_t i = 0; i < node.values.size(); ++i) {
      Value value = evaluate(*node.values[i], scope);
      items += itemsIn(value);
      grow(*node.values[i], items);
      if (node.keys[i]) {
        insert(result, evaluate(*node.keys[i], scope), std::move(value));
        continue;
      }
      const auto *other = value.get<Value::Dict>();
      if (!other)
        fail(*node.values[i], "`**` of a " + value.kindName(),
             "only a dict can be merged into a dict");
      for (const auto &[key, item] : other->items)
        insert(result, key, item);
    }
    return result;
  }

  std::vector<Value> iterate(const Expr &expr, const ScopePtr &scope) {
    Value value = evaluate(expr, scope);
    if (const std::vector<Value> *items = value.sequence())
      return *items;
    if (const auto *dict = value.get<Value::Dict>()) {
      std::vector<Value> keys;
      for (const auto &[key, item] : dict->items)
        keys.push_back(key);
      return keys;
    }
    fail(expr, "a " + value.kindName() + " cannot be iterated over",
         "use a list, a tuple or range()");
  }

  void bind(const Expr &target, const Value &value, MapScope &scope) {
    if (const auto *name = target.as<Name>()) {
      scope.values[name->id] = value;
      return;
    }
    const auto &tuple = target.to<TupleExpr>();
    const std::vector<Value> *items = value.sequence();
    if (!items || items->size() != tuple.elements.size())
      fail(target,
           "the value does not have " + std::to_string(tuple.elements.size()) +
               " parts",
           "match the names to the elements");
    for (size_t i = 0; i < items->size(); ++i) {
      if (!tuple.elements[i]->is<Name>() && !tuple.elements[i]->is<TupleExpr>())
        fail(*tuple.elements[i], "the loop variable must be a name",
             "write `for a, b in ...`");
      bind(*tuple.elements[i], (*items)[i], scope);
    }
  }

  void runClauses(const Comprehension &node, size_t index,
                  const ScopePtr &scope, Value::List &list, Value::Dict &dict,
                  size_t &items) {
    if (index == node.clauses.size()) {
      Value element = evaluate(*node.element, scope);
      items += itemsIn(element);
      grow(node, items);
      if (node.key)
        insert(dict, evaluate(*node.key, scope), std::move(element));
      else
        list.items.push_back(std::move(element));
      return;
    }
    const ComprehensionClause &clause = node.clauses[index];
    for (const Value &item : iterate(*clause.iterable, scope)) {
      // Creates a scope for each element, because lambdas may capture it.
      auto inner = std::make_shared<MapScope>();
      inner->parent = scope;
      bind(*clause.target, item, *inner);
      bool keep = true;
      for (const ExprPtr &condition : clause.conditions)
        keep = keep && evaluate(*condition, inner).truth();
      if (keep)
        runClauses(node, index + 1, inner, list, dict, items);
    }
  }

  Value comprehension(const Comprehension &node, const ScopePtr &scope) {
    Value::List list;
    Value::Dict dict;
    size_t items = 0;
    runClauses(node, 0, scope, list, dict, items);
    if (node.form == ComprehensionKind::Dict)
      return dict;
    return list;
  }

  std::shared_ptr<const SourceFile> file;
  unsigned steps = 0, calls = 0;
};

} // namespace

Value evaluate(const Expr &expr, std::shared_ptr<const Scope> scope,
               std::shared_ptr<const SourceFile> file) {
  return Evaluator(std::move(file)).evaluate(expr, scope);
}

Value call(const Value &function, const std::vector<Value> &arguments,
           std::shared_ptr<const SourceFile> file) {
  SourceRange range;
  if (const auto *known = function.get<Value::Function>())
    range = known->def ? known->def->nameRange : known->lambda->range;
  try {
    return Evaluator(file).call(function, arguments, {});
  } catch (ValueProblem &problem) {
    throw CompileError({Diagnostic::make(DiagnosticId::InvalidConstant, file,
                                         range, std::move(problem.message),
                                         std::move(problem.hint))});
  }
}

} // namespace tessera::language
