// language/HostFunction.cpp - runs Python functions that decorators call.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/HostFunction.h"

#include <algorithm>

namespace tessera::language {
namespace {

constexpr unsigned maxSteps = 200000;

class Runner {
public:
  Runner(const FunctionDef &function, std::shared_ptr<MapScope> names,
         const EvaluateIn &evaluateIn)
      : function(function), names(std::move(names)), evaluateIn(evaluateIn) {}

  Value run() {
    block(function.body);
    return result;
  }

private:
  enum class Flow { Next, Break, Continue, Return };

  [[noreturn]] void refuse(const std::string &what) {
    throw ValueProblem{"`" + function.name + "` " + what +
                           ", which is not run here",
                       "write the values out, or give every tl.constexpr at "
                       "the launch"};
  }

  Value value(const Expr &expr) { return evaluateIn(expr, names); }

  Flow block(const Block &body) {
    for (const StmtPtr &stmt : body)
      if (Flow flow = statement(*stmt); flow != Flow::Next)
        return flow;
    return Flow::Next;
  }

  Flow statement(const Stmt &stmt) {
    if (++steps > maxSteps)
      throw ValueProblem{"`" + function.name + "` takes too long",
                         "functions of decorators should be short"};
    if (const auto *node = stmt.as<Return>()) {
      if (node->value)
        result = value(*node->value);
      return Flow::Return;
    }
    if (const auto *branch = stmt.as<If>())
      return block(value(*branch->test).truth() ? branch->body
                                                : branch->orelse);
    if (const auto *loop = stmt.as<For>())
      return forLoop(*loop);
    if (const auto *loop = stmt.as<While>())
      return whileLoop(*loop);
    if (stmt.is<Break>())
      return Flow::Break;
    if (stmt.is<Continue>())
      return Flow::Continue;
    simple(stmt);
    return Flow::Next;
  }

  void simple(const Stmt &stmt) {
    if (const auto *assign = stmt.as<Assign>()) {
      const Value given = value(*assign->value);
      for (const ExprPtr &target : assign->targets)
        bind(*target, given);
    } else if (const auto *augmented = stmt.as<AugAssign>()) {
      bind(*augmented->target,
           applyBinary(augmented->op, value(*augmented->target),
                       value(*augmented->value)));
    } else if (const auto *annotated = stmt.as<AnnAssign>()) {
      if (annotated->value)
        bind(*annotated->target, value(*annotated->value));
    } else if (const auto *claim = stmt.as<Assert>()) {
      if (!value(*claim->test).truth())
        refuse("asserts what is false");
    } else if (const auto *plain = stmt.as<ExprStmt>()) {
      if (!grows(*plain->value))
        value(*plain->value);
    } else if (stmt.is<Raise>()) {
      refuse("raises an exception");
    } else if (!stmt.is<Pass>()) {
      refuse("holds a statement that is not arithmetic");
    }
  }

  // Runs `configs.append(x)` or `.extend(list)` on a list of the function.
  // Returns false for another expression.
  bool grows(const Expr &expr) {
    const auto *call = expr.as<Call>();
    const auto *method = call ? call->function->as<Attribute>() : nullptr;
    const auto *name = method ? method->value->as<Name>() : nullptr;
    if (!name || call->arguments.size() != 1 ||
        (method->attribute != "append" && method->attribute != "extend"))
      return false;
    auto found = names->values.find(name->id);
    if (found == names->values.end() || !found->second.is<Value::List>())
      return false;
    const Value more = value(*call->arguments[0]);
    // Looks the list up again: the argument may have called a function that
    // binds names.
    auto *list = std::get_if<Value::List>(&names->values[name->id].data);
    const std::vector<Value> *items = more.sequence();
    const bool one = method->attribute == "append";
    if (!list || (!one && !items))
      refuse("extends a list by a " + more.kindName());
    grown += itemsIn(more);
    if (grown > maxItems)
      throw ValueProblem{"the list is too long", "make it shorter"};
    if (one)
      list->items.push_back(more);
    else
      list->items.insert(list->items.end(), items->begin(), items->end());
    return true;
  }

  Flow forLoop(const For &loop) {
    const Value iterable = value(*loop.iterable);
    std::vector<Value> items;
    if (const std::vector<Value> *list = iterable.sequence())
      items = *list;
    else if (const auto *dict = iterable.get<Value::Dict>())
      for (const auto &[key, item] : dict->items)
        items.push_back(key);
    else
      refuse("loops over a " + iterable.kindName());
    for (const Value &item : items) {
      bind(*loop.target, item);
      const Flow flow = block(loop.body);
      if (flow == Flow::Return)
        return flow;
      if (flow == Flow::Break)
        break;
    }
    return Flow::Next;
  }

  Flow whileLoop(const While &loop) {
    while (value(*loop.test).truth()) {
      if (++steps > maxSteps)
        throw ValueProblem{"`" + function.name + "` takes too long",
                           "functions of decorators should be short"};
      const Flow flow = block(loop.body);
      if (flow == Flow::Return)
        return flow;
      if (flow == Flow::Break)
        break;
    }
    return Flow::Next;
  }

  void bind(const Expr &target, const Value &given) {
    if (const auto *name = target.as<Name>()) {
      names->values[name->id] = given;
      return;
    }
    const std::vector<ExprPtr> *targets = nullptr;
    if (const auto *tuple = target.as<TupleExpr>())
      targets = &tuple->elements;
    else if (const auto *list = target.as<ListExpr>())
      targets = &list->elements;
    const std::vector<Value> *items = given.sequence();
    if (!targets || !items || items->size() != targets->size())
      refuse("takes a value apart that does not fit");
    for (size_t i = 0; i < items->size(); ++i)
      bind(*(*targets)[i], (*items)[i]);
  }

  const FunctionDef &function;
  std::shared_ptr<MapScope> names;
  const EvaluateIn &evaluateIn;
  Value result;
  unsigned steps = 0;
  size_t grown = 0; // number of items appended to lists
};

} // namespace

Value runHostFunction(const FunctionDef &function,
                      const std::shared_ptr<const Scope> &outside,
                      const std::vector<Value> &arguments,
                      const KeywordValues &keywords,
                      const EvaluateIn &evaluate) {
  auto names = std::make_shared<MapScope>();
  names->parent = outside;
  const auto &parameters = function.parameters;
  if (arguments.size() > parameters.size())
    throw ValueProblem{"`" + function.name + "` takes " +
                           std::to_string(parameters.size()) + " arguments",
                       "leave the others out"};
  for (size_t i = 0; i < arguments.size(); ++i)
    names->values[parameters[i].name] = arguments[i];
  for (const auto &[name, value] : keywords) {
    if (std::none_of(parameters.begin(), parameters.end(),
                     [&, &name = name](const auto &other) {
                       return other.name == name;
                     }))
      throw ValueProblem{"`" + function.name + "` has no parameter `" + name +
                             "`",
                         "check the spelling"};
    names->values[name] = value;
  }
  for (const Parameter &parameter : parameters) {
    if (names->values.contains(parameter.name))
      continue;
    if (!parameter.defaultValue)
      throw ValueProblem{
          "`" + function.name + "` needs `" + parameter.name + "`", "pass it"};
    names->values[parameter.name] = evaluate(*parameter.defaultValue, outside);
  }
  if (function.isNamedTuple) {
    Value::Tuple tuple;
    for (const Parameter &field : parameters) {
      tuple.names.push_back(field.name);
      tuple.items.push_back(names->values.at(field.name));
    }
    return tuple;
  }
  return Runner(function, names, evaluate).run();
}

} // namespace tessera::language
