// compiler/semantics/Control.cpp - lowers if, for and the values that they
// change.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Lowering.h"
#include "compiler/semantics/Quote.h"
#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tessera::semantics {

using namespace mlir;

constexpr int64_t kMaxUnrolled = 4096;

static SmallVector<mlir::Type> typesOf(const std::vector<mlir::Value> &parts) {
  SmallVector<mlir::Type> types;
  for (mlir::Value part : parts)
    types.push_back(part.getType());
  return types;
}

static std::vector<mlir::Value> resultsOf(Operation *op) {
  return {op->result_begin(), op->result_end()};
}

static std::string atLine(const SourceRange &range) {
  return "line " + std::to_string(range.line);
}

Lowering::Condition Lowering::condition(const language::Expr &test,
                                        std::string_view statement) {
  Value value = evaluate(test);
  At at(*this, test.range);
  if (auto *constant = value.constant())
    return {constant->truth(), {}};
  if (auto *values = value.tupleValues())
    return {!values->empty(), {}};
  auto *tensor = value.tensor();
  if (!tensor)
    fail(DiagnosticId::BadCondition, test.range,
         "`" + std::string(statement) + "` cannot test " + value.describe(),
         value.aggregate() ? fieldHint(value, quoteOperand(test.range))
                           : "test for a missing argument with `is None`");
  Tensor scalar = *tensor;
  if (elements && scalar.type.isBlock())
    return {std::nullopt, emit.truth(scalar)};
  if (scalar.type.isBlock() && scalar.type.elements() != 1)
    fail(DiagnosticId::BadCondition, test.range,
         "`" + std::string(statement) + "` needs one truth value, got " +
             toString(scalar.type),
         "choose elementwise: tl.where(" + quote(test.range, "condition") +
             ", ..., ...); or reduce a block first, as with tl.max");
  return {std::nullopt, emit.truth(emit.unsplat(scalar))};
}

// Creates an scf.if without results. The result types are known only after both
// arms are lowered. The arms then move to the final op.
static scf::IfOp prototypeIf(Emitter &emit, const Tensor &test) {
  return scf::IfOp::create(emit.builder, emit.location(), TypeRange(),
                           test.handle, /*withElseRegion=*/true);
}

Operation *Lowering::finishIf(Operation *prototype,
                              const std::vector<mlir::Value> &thenParts,
                              const std::vector<mlir::Value> &elseParts) {
  auto draft = mlir::cast<scf::IfOp>(prototype);
  OpBuilder &builder = emit.builder;
  builder.setInsertionPoint(draft);
  auto op = scf::IfOp::create(builder, draft.getLoc(), typesOf(thenParts),
                              draft.getCondition(), /*withElseRegion=*/true);
  auto move = [&](Region &from, Region &to,
                  const std::vector<mlir::Value> &parts) {
    to.takeBody(from);
    mlir::Block &block = to.front();
    block.getTerminator()->erase();
    builder.setInsertionPointToEnd(&block);
    scf::YieldOp::create(builder, draft.getLoc(), parts);
  };
  move(draft.getThenRegion(), op.getThenRegion(), thenParts);
  move(draft.getElseRegion(), op.getElseRegion(), elseParts);
  draft.erase();
  builder.setInsertionPointAfter(op);
  return op;
}

Value Lowering::joinArms(Operation *prototype, const Value &thenValue,
                         const Value &elseValue) {
  std::vector<mlir::Value> thenParts, elseParts;
  flatten(thenValue, thenParts);
  flatten(elseValue, elseParts);
  auto results = resultsOf(finishIf(prototype, thenParts, elseParts));
  size_t next = 0;
  return rebuild(thenValue, results, next);
}

// Returns a hint: how to give two values of different types one type.
static std::string oneTypeHint(const Value &a, const Value &b) {
  const Tensor *x = a.tensor(), *y = b.tensor();
  if (!x || !y)
    return a.isNone() || b.isNone()
               ? "give it a value of one type in both; None does not have a "
                 "type"
               : "give both the same form, or use another name";
  if (x->type.shape != y->type.shape)
    return "give both the shape " +
           toString((x->type.isBlock() ? x : y)->type.shape) +
           ", as with tl.full, or use another name";
  if (x->type.element.isFloat() != y->type.element.isFloat())
    return "make both floats: 1.0 instead of 1, or .to(tl.float32)";
  return "convert one with .to(), or use another name";
}

// Decides for each name whether it is unchanged, merged or undefined after an
// `if`.
void Lowering::mergeArms(const Scope &before, Scope &thenScope,
                         Scope &elseScope, const language::If &stmt,
                         std::vector<std::string> &names) {
  for (auto &[name, inThen] : thenScope) {
    auto it = elseScope.find(name);
    if (it == elseScope.end()) {
      frame().lost[name] =
          "it is assigned in one arm only of the `if` of " + atLine(stmt.range);
      continue;
    }
    const Variable &inElse = it->second;
    if (sameParts(inThen.value, inElse.value))
      continue;
    if (!sameType(inThen.value, inElse.value)) {
      auto old = before.find(name);
      bool thenIsNew =
          old == before.end() || !sameParts(old->second.value, inThen.value);
      bool elseIsNew =
          old == before.end() || !sameParts(old->second.value, inElse.value);
      std::string message;
      if (thenIsNew && elseIsNew)
        message = "`" + name + "` is " + inThen.value.describe() +
                  " in one arm and " + inElse.value.describe() +
                  " in the other";
      else
        message = "`" + name + "` is " + old->second.value.describe() +
                  " before the `if` of " + atLine(stmt.range) +
                  ", but becomes " +
                  (thenIsNew ? inThen : inElse).value.describe() + " in it";
      fail(DiagnosticId::BranchType, (elseIsNew ? inElse : inThen).where,
           message, oneTypeHint(inThen.value, inElse.value));
    }
    names.push_back(name);
  }
  for (auto &[name, inElse] : elseScope)
    if (!thenScope.count(name))
      frame().lost[name] =
          "it is assigned in one arm only of the `if` of " + atLine(stmt.range);
}

void Lowering::visitIf(const language::If &stmt) {
  Condition test = condition(*stmt.test, "if");
  if (test.known) {
    visitBlock(*test.known ? stmt.body : stmt.orelse);
    return;
  }
  const bool onElements = test.value.type.isBlock();
  scf::IfOp draft = onElements ? nullptr : prototypeIf(emit, test.value);
  Scope before = frame().scope;
  onSomeElements += onElements;
  if (draft)
    emit.builder.setInsertionPoint(draft.thenBlock()->getTerminator());
  visitBlock(stmt.body);
  Scope thenScope = std::move(frame().scope);
  frame().scope = before;
  if (draft)
    emit.builder.setInsertionPoint(draft.elseBlock()->getTerminator());
  visitBlock(stmt.orelse);
  onSomeElements -= onElements;
  Scope elseScope = std::move(frame().scope);

  std::vector<std::string> names;
  mergeArms(before, thenScope, elseScope, stmt, names);
  // Keeps the names of both arms; merged ones become selects or results of the
  // scf.if.
  Scope after;
  for (auto &[name, variable] : thenScope)
    if (elseScope.count(name))
      after[name] = variable;
  std::vector<mlir::Value> thenParts, elseParts;
  for (const std::string &name : names) {
    const Value &thenValue = thenScope[name].value;
    const Value &elseValue = elseScope[name].value;
    if (onElements)
      after[name].value = selectParts(test.value, thenValue, elseValue);
    flatten(thenValue, thenParts);
    flatten(elseValue, elseParts);
  }
  if (draft) {
    auto results = resultsOf(finishIf(draft, thenParts, elseParts));
    size_t next = 0;
    for (const std::string &name : names)
      after[name].value = rebuild(thenScope[name].value, results, next);
  }
  frame().scope = std::move(after);
}

// Lowers an `if` that contains a return: the statements after it run inside its
// arms.
Lowering::Outcome Lowering::branchWithReturn(const language::If &stmt,
                                             const Condition &test,
                                             const Rest &rest) {
  if (frame().loopDepth)
    fail(DiagnosticId::BadReturn, stmt.range,
         "`return` inside a loop is not supported",
         "guard the rest of the body with `if` instead");
  const bool onElements = test.value.type.isBlock();
  scf::IfOp draft = onElements ? nullptr : prototypeIf(emit, test.value);
  Scope before = frame().scope;
  auto lostBefore = frame().lost;
  if (draft)
    emit.builder.setInsertionPoint(draft.thenBlock()->getTerminator());
  onSomeElements += onElements;
  // As in Triton, a number that one arm returns is a run-time value.
  Outcome thenOutcome = run({&stmt.body, 0, &rest});
  thenOutcome.value = spread(materialize(thenOutcome.value));
  frame().scope = std::move(before);
  frame().lost = std::move(lostBefore);
  if (draft)
    emit.builder.setInsertionPoint(draft.elseBlock()->getTerminator());
  Outcome elseOutcome = run({&stmt.orelse, 0, &rest});
  elseOutcome.value = spread(materialize(elseOutcome.value));
  onSomeElements -= onElements;

  if (!sameType(thenOutcome.value, elseOutcome.value)) {
    const Outcome &shown = elseOutcome.returned ? elseOutcome : thenOutcome;
    fail(DiagnosticId::BadReturn, shown.range,
         "`" + frame().function->name + "` returns " +
             thenOutcome.value.describe() + " on one path and " +
             elseOutcome.value.describe() + " on another",
         "every path must return the same type: " +
             oneTypeHint(thenOutcome.value, elseOutcome.value));
  }
  const SourceRange &where =
      thenOutcome.returned ? thenOutcome.range : elseOutcome.range;
  if (onElements)
    return {true, selectParts(test.value, thenOutcome.value, elseOutcome.value),
            where};
  return {true, joinArms(draft, thenOutcome.value, elseOutcome.value), where};
}

Value Lowering::conditional(const language::IfExp &expr) {
  Condition test = condition(*expr.test, "if");
  if (test.known)
    return evaluate(*test.known ? *expr.body : *expr.orelse);
  const bool onElements = test.value.type.isBlock();
  scf::IfOp draft = onElements ? nullptr : prototypeIf(emit, test.value);
  onSomeElements += onElements;
  if (draft)
    emit.builder.setInsertionPoint(draft.thenBlock()->getTerminator());
  Value thenValue = spread(materialize(evaluate(*expr.body)));
  if (draft)
    emit.builder.setInsertionPoint(draft.elseBlock()->getTerminator());
  Value elseValue = spread(materialize(evaluate(*expr.orelse)));
  onSomeElements -= onElements;
  if (!sameType(thenValue, elseValue))
    fail(DiagnosticId::BranchType, expr.range,
         "the two sides of `if else` are " + thenValue.describe() + " and " +
             elseValue.describe(),
         oneTypeHint(thenValue, elseValue));
  if (onElements)
    return selectParts(test.value, thenValue, elseValue);
  return joinArms(draft, thenValue, elseValue);
}

static std::string forHint(const Value &iterable, const std::string &text) {
  if (iterable.aggregate())
    return fieldsHint(iterable, text);
  if (auto *tensor = iterable.tensor(); tensor && tensor->type.isBlock())
    return "a block is computed as a whole: write tl.sum(" + text +
           ", axis=0) and the like";
  if (iterable.tensor() || iterable.constant())
    return "to count, write range(" + text + ")";
  return "write for i in range(n)";
}

void Lowering::visitFor(const language::For &stmt) {
  Value iterable = evaluate(*stmt.iterable);
  auto *range = iterable.range();
  auto *items = iterable.tupleValues();
  if (!range && !items)
    fail(DiagnosticId::BadLoop, stmt.iterable->range,
         "`for` needs range, tl.range, tl.static_range or a tuple, got " +
             iterable.describe(),
         forHint(iterable, quote(stmt.iterable->range)));
  if (range && !stmt.target->is<language::Name>())
    fail(DiagnosticId::BadLoop, stmt.target->range,
         "a loop variable must be a name", "write for i in range(n)");
  auto isBlock = [](const Value &value) {
    return value.tensor() && value.tensor()->type.isBlock();
  };
  if (elements && range && !range->unroll &&
      (isBlock(*range->start) || isBlock(*range->stop)))
    return forOnElements(stmt, *range);
  if (range && !range->unroll)
    return loop(stmt, *range);
  ++frame().loopDepth;
  for (const Value &item :
       range ? rangeValues(stmt, *range) : std::vector<Value>(*items)) {
    assign(*stmt.target, item);
    visitBlock(stmt.body);
  }
  --frame().loopDepth;
}

// Returns the values of a range over compile-time integers.
std::vector<Value> Lowering::rangeValues(const language::For &stmt,
                                         const Range &range) {
  auto bound = [&](const Value &value) {
    auto number = value.constant() ? value.constant()->asInt() : std::nullopt;
    if (!number || *number > maxOf(DType::Int64) ||
        *number < minOf(DType::Int64))
      fail(DiagnosticId::NotConstexpr, stmt.iterable->range,
           "tl.static_range needs compile-time integers, got " +
               value.describe(),
           "use range for a loop at run time, or make it a tl.constexpr");
    return *number;
  };
  Const::Int start = bound(*range.start), stop = bound(*range.stop),
             step = bound(*range.step);
  if (step == 0)
    fail(DiagnosticId::BadLoop, stmt.iterable->range, "the step is zero",
         "count up with 1 or more, down with a negative number");
  Const::Int count = step > 0 ? (stop - start + step - 1) / step
                              : (start - stop - step - 1) / -step;
  if (count > kMaxUnrolled)
    fail(DiagnosticId::UnrollLimit, stmt.iterable->range,
         "tl.static_range would unroll more than " +
             std::to_string(kMaxUnrolled) + " times",
         "use range: it compiles the body once");
  std::vector<Value> values;
  for (Const::Int i = start; step > 0 ? i < stop : i > stop; i += step)
    values.push_back(Const(i));
  return values;
}

// Returns a hint: an initial value whose type the loop does not change.
static std::string carriedHint(const std::string &name, const Value &before,
                               const Value &after) {
  const Tensor *x = before.tensor(), *y = after.tensor();
  if (!x || !y || x->type.element.isPointer || y->type.element.isPointer)
    return "give it a value of the final type before the loop";
  const std::string type = tlName(y->type.element);
  if (x->type.shape != y->type.shape && y->type.isBlock())
    return "begin with `" + name + " = tl.zeros(" + toString(y->type.shape) +
           ", " + type + ")` before the loop";
  if (x->type.shape != y->type.shape)
    return "keep the shape, as with keep_dims=True or [:, None]";
  if (!x->type.isBlock() && !x->type.element.isFloat() &&
      y->type.element.isFloat())
    return "begin with a float before the loop, as in `" + name + " = 0.0`";
  return "begin with " + type +
         " before the loop, or convert back in it: .to(" +
         tlName(x->type.element) + ")";
}

void Lowering::checkCarried(const std::string &name, const Variable &before,
                            const Variable &after) {
  if (sameType(before.value, after.value) && before.value.isDynamic())
    return;
  bool frozen = before.value.constant() && before.value.constant()->isNumber();
  std::string hint = carriedHint(name, before.value, after.value);
  if (frozen)
    hint = "a compile-time value cannot change in a loop; copy it to another "
           "name before the loop";
  else if (before.value.isNone())
    hint = "give it a value of the final type before the loop";
  fail(DiagnosticId::LoopCarriedType, after.where,
       "`" + name + "` is " + before.value.describe() +
           " before the loop but becomes " + after.value.describe() + " in it",
       hint);
}

// True if a step that is known at run time is at least 1 in every launch.
static bool countsUp(mlir::Value step) {
  while (Operation *op = step.getDefiningOp()) {
    if (isa<tile::NumProgramsOp>(op))
      return true;
    if (!isa<arith::ExtSIOp, arith::ExtUIOp>(op))
      return false;
    step = op->getOperand(0);
  }
  return false;
}

// Returns `stop` if the step is positive, else `start`.
static mlir::Value emptyUnless(OpBuilder &builder, Location where,
                               mlir::Value step, mlir::Value stop,
                               mlir::Value start) {
  mlir::Value zero = arith::ConstantOp::create(
      builder, where, builder.getIntegerAttr(step.getType(), 0));
  mlir::Value positive = arith::CmpIOp::create(
      builder, where, arith::CmpIPredicate::sgt, step, zero);
  return arith::SelectOp::create(builder, where, positive, stop, start);
}

// Lowers a run-time loop. The body is visited twice: first in a draft op, to
// find which names it changes, then with those names as loop arguments.
void Lowering::loop(const language::For &stmt, const Range &range) {
  OpBuilder &builder = emit.builder;
  At at(*this, stmt.iterable->range);
  Value first = *range.start, stop = *range.stop, step = *range.step;
  bool mirrored = false;
  if (auto *constant = step.constant(); constant && constant->asInt()) {
    if (*constant->asInt() == 0)
      fail(DiagnosticId::BadLoop, stmt.iterable->range, "the step is zero",
           "count up with 1 or more, down with a negative number");
    if (*constant->asInt() < 0) {
      mirrored = true;
      step = Value::integer(-*constant->asInt());
      std::swap(first, stop);
    }
  }
  Tensor bounds[] = {emit.toTensor(first, "a loop bound"),
                     emit.toTensor(stop, "a loop bound"),
                     emit.toTensor(step, "a loop step")};
  for (const Tensor &bound : bounds)
    if (bound.type.isBlock() || !bound.type.element.isInt())
      fail(DiagnosticId::BadLoop, stmt.iterable->range,
           "loop bounds must be scalar integers, got " + toString(bound.type),
           bound.type.isBlock()
               ? "reduce the block first: tl.max(x, axis=0)"
               : "`/` always gives a float: divide with //, or convert with "
                 ".to(tl.int32)");
  // A step of -2^31 counts down by 2^31, a constant of an unsigned type.
  if (mirrored && bounds[2].type.element.dtype == DType::UInt32)
    bounds[2] = emit.cast(bounds[2], Element{DType::Int64});
  DType dtype = promoteInts(
      promoteInts(bounds[0].type.element.dtype, bounds[1].type.element.dtype),
      bounds[2].type.element.dtype);
  Type type(dtype);
  for (Tensor &bound : bounds)
    bound = emit.cast(bound, type.element);
  // scf.for does not terminate if it counts up by a negative number or zero.
  // Such a step makes the range empty.
  if (!step.constant() && !countsUp(bounds[2].handle))
    bounds[1].handle = emptyUnless(builder, emit.location(), bounds[2].handle,
                                   bounds[1].handle, bounds[0].handle);

  auto &target = stmt.target->to<language::Name>();
  auto makeLoop = [&](const std::vector<mlir::Value> &inits) {
    auto op = scf::ForOp::create(builder, emit.location(), bounds[0].handle,
                                 bounds[1].handle, bounds[2].handle, inits);
    builder.setInsertionPointToStart(op.getBody());
    Tensor index{op.getInductionVar(), type};
    if (mirrored)
      index =
          *emit.binary(BinaryOp::Add,
                       emit.binary(BinaryOp::Sub, bounds[1], index), bounds[0])
               .tensor();
    frame().scope[target.id] = {index, target.range};
    return op;
  };
  // Restores the body's end: without results there is a yield already.
  auto visitBody = [&] {
    ++frame().loopDepth;
    visitBlock(stmt.body);
    --frame().loopDepth;
  };

  LoopStart start = startLoop();
  ++dryRuns;
  scf::ForOp draft = makeLoop({});
  visitBody();
  --dryRuns;
  start.names = changedNames(start.scope, stmt.range, target.id);
  draft.erase();
  restart(start);

  scf::ForOp op;
  do {
    op = makeLoop(initialParts(start));
    for (const auto &[name, value] : range.options)
      op->setAttr("tile." + name,
                  builder.getI32IntegerAttr(int32_t(*value.asInt())));
    bindNames(start, op.getRegionIterArgs());
    visitBody();
  } while (carriesMore(start, op, stmt.range, target.id));
  if (!start.names.empty())
    yieldNames(start);
  builder.setInsertionPointAfter(op);

  // Names that only the body assigns are undefined after the loop.
  loseNames(frame().scope, start, stmt.range);
  frame().lost[target.id] = std::string(loopVariable) + atLine(stmt.range);
  frame().scope = start.scope;
  frame().scope.erase(target.id);
  bindNames(start, op.getResults());
}

} // namespace tessera::semantics
