// compiler/semantics/Expressions.cpp - lowers operators, literals and indexing.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Constants.h"
#include "compiler/semantics/Lowering.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tessera::semantics {

// Limit on the steps of one kernel; the largest kernel of kernels/ takes a few
// thousand. Nested unrolling, helpers that call helpers several times, and the
// second visit of each nested loop's body grow exponentially.
static constexpr uint64_t maxSteps = 500000;

void Lowering::countStep(const SourceRange &range) {
  if (++steps > maxSteps)
    fail(DiagnosticId::UnrollLimit, range,
         "the kernel unrolls to more than " + std::to_string(maxSteps) +
             " statements and expressions",
         "use range for the outer loops, and call helpers fewer times");
}

Value Lowering::evaluate(const language::Expr &expr) {
  At at(*this, expr.range);
  countStep(expr.range);
  const language::Expr *outer = std::exchange(current, &expr);
  Value value = evaluateHere(expr);
  current = outer;
  if (values)
    values->add(frame().file, expr.range, value);
  return value;
}

static std::vector<const language::Expr *>
pointers(const std::vector<language::ExprPtr> &list) {
  std::vector<const language::Expr *> result;
  for (const language::ExprPtr &item : list)
    result.push_back(item.get());
  return result;
}

Value Lowering::evaluateHere(const language::Expr &expr) {
  using language::ExprKind;
  auto sequence = [&](const std::vector<language::ExprPtr> &elements) {
    std::vector<Value> values;
    for (const language::Expr *element : pointers(elements)) {
      if (auto *starred = element->as<language::Starred>()) {
        Value inner = evaluate(*starred->value);
        auto *items = inner.tupleValues();
        if (!items)
          fail(DiagnosticId::BadUnpacking, element->range,
               "only a tuple can be spread with *, got " + inner.describe(),
               inner.aggregate()
                   ? fieldsHint(inner, quoteOperand(starred->value->range))
                   : "");
        emit.checkTupleSize(values.size() + items->size());
        values.insert(values.end(), items->begin(), items->end());
        continue;
      }
      values.push_back(evaluate(*element));
    }
    return emit.tuple(std::move(values));
  };
  switch (expr.kind) {
  case ExprKind::Name:
    return lookUp(expr.to<language::Name>());
  case ExprKind::Constant:
    return fromSyntax(expr.to<language::Constant>().value, expr.range);
  case ExprKind::BinOp: {
    auto &node = expr.to<language::BinOp>();
    Value left = evaluate(*node.left), right = evaluate(*node.right);
    if (node.op == BinaryOp::MatMul)
      fail(DiagnosticId::NotSupported, expr.range, "`@` is not supported",
           "write tl.dot(" + quote(node.left->range, "a") + ", " +
               quote(node.right->range, "b") + ")");
    return binary(node.op, left, right);
  }
  case ExprKind::UnaryOp: {
    auto &node = expr.to<language::UnaryOpExpr>();
    const Value operand = evaluate(*node.operand);
    static constexpr std::array<const char *, 4> kNames{"neg", "pos", "not",
                                                        "invert"};
    if (auto result = classOperator(kNames.at(size_t(node.op)), operand, {}))
      return *result;
    return emit.unary(node.op, operand);
  }
  case ExprKind::BoolOp:
    return boolOp(expr.to<language::BoolOp>());
  case ExprKind::Compare:
    return compare(expr.to<language::Compare>());
  case ExprKind::Call:
    return call(expr.to<language::Call>());
  case ExprKind::Attribute: {
    auto &node = expr.to<language::Attribute>();
    // In `__init__`, `self.x` is the variable of this name (Classes.cpp).
    if (const auto *object = node.value->as<language::Name>())
      if (auto it = frame().scope.find(object->id + "." + node.attribute);
          it != frame().scope.end())
        return it->second.value;
    return attribute(evaluate(*node.value), node);
  }
  case ExprKind::Subscript:
    return subscript(expr.to<language::Subscript>());
  case ExprKind::Tuple:
    return sequence(expr.to<language::TupleExpr>().elements);
  case ExprKind::List:
    return sequence(expr.to<language::ListExpr>().elements);
  case ExprKind::IfExp:
    return conditional(expr.to<language::IfExp>());
  case ExprKind::JoinedStr:
    return joined(expr.to<language::JoinedStr>());
  case ExprKind::Comprehension:
    return comprehension(expr.to<language::Comprehension>());
  default:
    fail(DiagnosticId::NotSupported, expr.range,
         "this expression is not supported inside a kernel");
  }
}

Value Lowering::compareTwo(language::CompareOp op, const Value &a,
                           const Value &b) {
  using Op = CompareOp;
  if (op == Op::Is || op == Op::IsNot) {
    bool same = sameType(a, b) && !a.isDynamic();
    return Value::boolean(same == (op == Op::Is));
  }
  if (op == Op::In || op == Op::NotIn) {
    if (auto *dict = b.dict(); dict && !a.isDynamic())
      return Value::boolean((dict->find(a) != nullptr) == (op == Op::In));
    auto *items = b.tupleValues();
    auto *key = a.constant();
    if (!items || !key || b.isDynamic())
      fail(DiagnosticId::NotSupported, emit.site.range,
           "`in` is only supported between compile-time values and tuples or "
           "dicts",
           b.aggregate() ? fieldHint(b, quoteRight()) : "");
    bool found = false;
    for (const Value &item : *items)
      found |= item.constant() && item.constant()->equals(*key);
    return Value::boolean(found == (op == Op::In));
  }
  static constexpr std::array<const char *, 6> kNames{"eq", "ne", "lt",
                                                      "le", "gt", "ge"};
  static constexpr std::array<const char *, 6> kSwapped{"eq", "ne", "gt",
                                                        "ge", "lt", "le"};
  if (a.aggregate() || b.aggregate())
    if (auto result =
            classOperator(kNames.at(size_t(op)), kSwapped.at(size_t(op)), a, b))
      return *result;
  return emit.compare(op, a, b);
}

// Returns the hint for `a < n & b > m`, which Python reads as a < (n & b) > m;
// "" for a chain whose operands have no `&` or `|` outside of parentheses.
static std::string precedenceHint(const language::Compare &expr) {
  const auto *middle = expr.comparators.size() == 2
                           ? expr.comparators[0]->as<language::BinOp>()
                           : nullptr;
  if (!middle || middle->parenthesized ||
      (middle->op != BinaryOp::And && middle->op != BinaryOp::Or))
    return "";
  auto side = [](const language::ExprPtr &side) {
    return quote(side->range, "...");
  };
  return std::string("`") + spelling(middle->op) +
         "` binds tighter than a comparison; write (" + side(expr.left) + " " +
         spelling(expr.ops[0]) + " " + side(middle->left) + ") " +
         spelling(middle->op) + " (" + side(middle->right) + " " +
         spelling(expr.ops[1]) + " " + side(expr.comparators[1]) + ")";
}

// Lowers a comparison. A chain a < b < c is a < b and b < c, element by element
// for blocks. The usual reason for `at < n & at > 4` is a missing pair of
// parentheses, so such a chain of blocks is an error.
Value Lowering::compare(const language::Compare &expr) {
  const auto isBlock = [](const Value &value) {
    return value.isDynamic() &&
           (!value.tensor() || value.tensor()->type.isBlock());
  };
  const std::string hint = precedenceHint(expr);
  Value left = evaluate(*expr.left);
  Value result;
  std::optional<Tensor> combined;
  for (size_t i = 0; i < expr.ops.size(); ++i) {
    Value right = evaluate(*expr.comparators[i]);
    if (!hint.empty() && (isBlock(left) || isBlock(right)))
      fail(DiagnosticId::ChainedComparison, expr.range,
           "this chain of comparisons compares the result of `&` or `|`", hint);
    result = compareTwo(expr.ops[i], left, right);
    if (expr.ops.size() == 1)
      return result;
    if (const Tensor *pair = result.tensor())
      combined = combined ? emit.logical(true, *combined, *pair) : *pair;
    else if (!result.constant())
      fail(DiagnosticId::BadOperand, expr.range,
           "a chain of comparisons joins truth values, and one comparison "
           "gives " +
               result.describe(),
           "compare the fields of aggregates one by one");
    else if (!result.constant()->truth())
      return result;
    left = std::move(right);
  }
  return combined ? Value(*combined) : result;
}

// Lowers `and` and `or`. Compile-time operands short-circuit or are dropped;
// the others are combined at run time. A single aggregate is the result.
Value Lowering::boolOp(const language::BoolOp &expr) {
  bool isAnd = expr.op == language::BoolOpKind::And;
  std::optional<Tensor> combined;
  Value last, object; // an aggregate
  for (const language::ExprPtr &operand : expr.values) {
    last = evaluate(*operand);
    const Value before = combined ? Value(*combined) : object;
    if (last.aggregate() ? !before.isNone()
                         : before.aggregate() && last.tensor())
      fail(DiagnosticId::BadOperand, operand->range,
           quoted(spelling(expr.op)) + " is not defined between " +
               before.describe() + " and " + last.describe(),
           last.aggregate() ? fieldHint(last, quoteOperand(operand->range))
                            : fieldHint(before, "value"));
    if (last.aggregate()) {
      object = last;
      continue;
    }
    if (auto *tensor = last.tensor()) {
      At at(*this, operand->range);
      Tensor side =
          tensor->type.element.isPointer ? emit.truth(*tensor) : *tensor;
      combined = combined ? emit.logical(isAnd, *combined, side) : side;
      continue;
    }
    bool truth = last.constant()      ? last.constant()->truth()
                 : last.tupleValues() ? !last.tupleValues()->empty()
                                      : true;
    if (truth != isAnd)
      return last;
  }
  return object.aggregate() ? object : combined ? Value(*combined) : last;
}

Value Lowering::joined(const language::JoinedStr &expr) {
  std::string text = expr.texts[0];
  for (size_t i = 0; i < expr.values.size(); ++i) {
    Value value = evaluate(*expr.values[i]);
    if (value.isDynamic())
      fail(DiagnosticId::NotConstexpr, expr.values[i]->range,
           "an f-string holds compile-time values only, got " +
               value.describe(),
           "print run-time values with tl.device_print(\"name\", value)");
    const Const *constant = value.constant();
    const bool quoted = constant && constant->isString() && expr.reprs[i];
    text += quoted     ? language::Value(constant->string()).repr()
            : constant ? constant->str()
                       : value.describe();
    text += expr.texts[i + 1];
    if (text.size() > kMaxTextBytes)
      fail(DiagnosticId::ConstantArithmetic, expr.range,
           "the text would be longer than " + std::to_string(kMaxTextBytes) +
               " bytes",
           "make it shorter");
  }
  return Const(std::move(text));
}

// Lowers [f(x) for x in values]; the number of values must be a compile-time
// constant.
Value Lowering::comprehension(const language::Comprehension &expr) {
  if (expr.clauses.size() != 1)
    fail(DiagnosticId::NotSupported, expr.range,
         "only one `for` is supported in a comprehension");
  const language::ComprehensionClause &clause = expr.clauses[0];
  Value iterable = evaluate(*clause.iterable);
  auto *items = iterable.tupleValues();
  if (!items)
    fail(DiagnosticId::BadLoop, clause.iterable->range,
         "a comprehension runs over a tuple, got " + iterable.describe(),
         iterable.aggregate()
             ? fieldsHint(iterable, quoteOperand(clause.iterable->range))
             : "write a loop over tl.static_range");
  Scope outside = frame().scope;
  std::vector<Value> result;
  for (const Value &item : std::vector<Value>(*items)) {
    assign(*clause.target, item);
    bool taken = true;
    for (const language::ExprPtr &test : clause.conditions)
      taken = taken && knownCondition(*test);
    if (taken)
      result.push_back(evaluate(*expr.element));
  }
  frame().scope = std::move(outside);
  return emit.tuple(std::move(result));
}

Value Lowering::indexTuple(const Value &tuple, const language::Expr &index) {
  const std::vector<Value> values = *tuple.tupleValues();
  auto bound = [&](const language::ExprPtr &expr, int64_t fallback) {
    if (!expr)
      return fallback;
    Value value = evaluate(*expr);
    auto number = value.constant() ? value.constant()->asInt() : std::nullopt;
    if (!number)
      fail(DiagnosticId::NotConstexpr, expr->range,
           "a tuple is indexed with compile-time integers, got " +
               value.describe());
    return int64_t(*number);
  };
  int64_t size = int64_t(values.size());
  if (auto *slice = index.as<language::Slice>()) {
    int64_t step = bound(slice->step, 1);
    if (step != 1)
      fail(DiagnosticId::NotSupported, index.range,
           "slices with a step are not supported");
    auto clamp = [&](int64_t at) {
      return std::min(std::max(at < 0 ? at + size : at, int64_t(0)), size);
    };
    int64_t begin = clamp(bound(slice->lower, 0));
    int64_t end = std::max(begin, clamp(bound(slice->upper, size)));
    return Value::tuple({values.begin() + begin, values.begin() + end});
  }
  Value value = evaluate(index);
  auto number = value.constant() ? value.constant()->asInt() : std::nullopt;
  if (!number)
    fail(DiagnosticId::NotConstexpr, index.range,
         "a tuple is indexed with compile-time integers, got " +
             value.describe());
  if (*number < -size || *number >= size)
    fail(DiagnosticId::BadArgument, index.range,
         "index " + value.constant()->str() + " is outside " +
             tuple.describe());
  return values[size_t(*number < 0 ? *number + size : *number)];
}

Value Lowering::indexDict(const Dict &dict, const language::Expr &index) {
  const Value key = evaluate(index);
  if (key.isDynamic())
    fail(DiagnosticId::NotConstexpr, index.range,
         "a dict is indexed with compile-time values, got " + key.describe());
  const Value *found = dict.find(key);
  if (!found)
    fail(DiagnosticId::BadArgument, index.range,
         "the dict has no key that is " + key.describe(),
         "check the spelling of the key");
  return *found;
}

Value Lowering::subscript(const language::Subscript &expr) {
  Value value = evaluate(*expr.value);
  if (value.tupleValues())
    return indexTuple(value, *expr.index);
  if (auto *dict = value.dict())
    return indexDict(*dict, *expr.index);
  if (auto *type = value.aggregate(); type && type->method("__getitem__"))
    return *classOperator("getitem", value, {evaluate(*expr.index)});
  auto *tensor = value.tensor();
  if (!tensor)
    fail(DiagnosticId::BadOperand, expr.range,
         value.describe() + " cannot be indexed",
         value.as<FunctionRef>()
             ? "a kernel calls functions with parentheses: " +
                   quote(expr.value->range) + "(...)"
         : value.aggregate() ? fieldHint(value, quoteOperand(expr.value->range))
                             : "blocks and tuples can be indexed");
  std::vector<const language::Expr *> items{expr.index.get()};
  if (auto *tuple = expr.index->as<language::TupleExpr>())
    items = pointers(tuple->elements);
  Tensor result = *tensor;
  int64_t axis = 0, kept = 0;
  for (const language::Expr *item : items) {
    auto *slice = item->as<language::Slice>();
    if (slice && !slice->lower && !slice->upper && !slice->step) {
      if (++kept > tensor->type.rank() && tensor->type.isBlock())
        fail(DiagnosticId::ShapeMismatch, item->range,
             "too many `:` for " + toString(tensor->type));
    } else if (!slice && evaluate(*item).isNone()) {
      // A `:` of a scalar adds no axis, so a later None may be out of range.
      if (axis > result.type.rank())
        fail(DiagnosticId::ShapeMismatch, item->range,
             "too many `:` for " + toString(tensor->type));
      result = emit.expandDims(result, axis);
    } else {
      fail(DiagnosticId::NotSupported, item->range,
           "a block is indexed with None and `:` only",
           tensor->type.element.isPointer
               ? "a pointer is moved with +: tl.load(" +
                     quote(expr.value->range) + " + " +
                     quote(item->range, "offsets") + ")"
           : slice ? "load that part through a pointer, with tl.arange as "
                     "offsets; or mask the rest"
                   : "load the element through a pointer, or reduce: "
                     "tl.sum(tl.where(index == " +
                         quote(item->range, "i") + ", " +
                         quote(expr.value->range) + ", 0))");
    }
    ++axis;
  }
  return result;
}

} // namespace tessera::semantics
