// compiler/semantics/While.cpp - lowers while loops; finds the names that a
// loop changes.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Lowering.h"

#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tessera::semantics {

using namespace mlir;

std::vector<std::string>
Lowering::changedNames(const Scope &before, const SourceRange &loop,
                       const std::string &except,
                       const std::vector<std::string> &carried) {
  std::vector<std::string> names;
  for (const auto &[name, variable] : before) {
    if (name == except || llvm::is_contained(carried, name))
      continue;
    auto it = frame().scope.find(name);
    if (it == frame().scope.end())
      fail(DiagnosticId::LoopCarriedType, variable.where,
           "`" + name + "` has no value at the end of the loop of line " +
               std::to_string(loop.line) + ": " + frame().lost[name],
           "give it a value on every way through the body");
    if (sameParts(variable.value, it->second.value))
      continue;
    checkCarried(name, variable, it->second);
    names.push_back(name);
  }
  return names;
}

bool Lowering::carriesMore(LoopStart &start, mlir::Operation *loop,
                           const SourceRange &range,
                           const std::string &except) {
  const std::vector<std::string> more =
      changedNames(start.scope, range, except, start.names);
  if (more.empty())
    return false;
  start.names.insert(start.names.end(), more.begin(), more.end());
  loop->erase();
  restart(start);
  return true;
}

Lowering::LoopStart Lowering::startLoop() {
  return {frame().scope, frame().lost, emit.builder.saveInsertionPoint(), {}};
}

void Lowering::restart(const LoopStart &start) {
  emit.builder.restoreInsertionPoint(start.place);
  frame().scope = start.scope;
  frame().lost = start.lost;
}

std::vector<mlir::Value> Lowering::initialParts(const LoopStart &start) {
  std::vector<mlir::Value> parts;
  for (const std::string &name : start.names)
    flatten(start.scope.find(name)->second.value, parts);
  return parts;
}

void Lowering::bindNames(const LoopStart &start, ValueRange values) {
  std::vector<mlir::Value> parts(values.begin(), values.end());
  size_t next = 0;
  for (const std::string &name : start.names) {
    const Variable &variable = start.scope.find(name)->second;
    frame().scope[name] = {rebuild(variable.value, parts, next),
                           variable.where};
  }
}

void Lowering::yieldNames(const LoopStart &start, const Tensor *active,
                          const Scope *entered) {
  std::vector<mlir::Value> yields;
  for (const std::string &name : start.names) {
    const Variable &variable = frame().scope[name];
    checkCarried(name, start.scope.find(name)->second, variable);
    flatten(active ? selectParts(*active, variable.value,
                                 entered->find(name)->second.value)
                   : variable.value,
            yields);
  }
  scf::YieldOp::create(emit.builder, emit.location(), yields);
}

void Lowering::loseNames(const Scope &body, const LoopStart &start,
                         const SourceRange &range) {
  for (const auto &[name, variable] : body)
    if (!start.scope.count(name))
      frame().lost[name] = "it is assigned only inside the loop of line " +
                           std::to_string(range.line);
}

void Lowering::visitWhile(const language::While &stmt) {
  whileLoop(
      stmt.range,
      [&]() -> std::optional<Tensor> {
        Condition test = condition(*stmt.test, "while");
        if (test.known && (elements || *test.known))
          fail(DiagnosticId::BadLoop, stmt.test->range,
               elements ? "the condition of this `while` does not change"
                        : "the condition of this `while` is always true",
               "test a value that the body changes");
        if (test.known)
          return std::nullopt;
        return *spread(test.value).tensor();
      },
      [&] { visitBlock(stmt.body); });
}

Tensor Lowering::anyElement(const Tensor &test) {
  if (!test.type.isBlock())
    return test;
  Tensor flat = emit.reshape(emit.cast(test, {DType::Int32, false}),
                             {test.type.elements()});
  return emit.truth(
      Tensor{tile::ReduceOp::create(emit.builder, emit.location(),
                                    emit.builder.getI32Type(),
                                    tile::ReduceKind::Or, flat.handle, 0),
             Type(DType::Int32)});
}

// Lowers a while loop to scf.while. Like a run-time `for`, the loop is visited
// twice (Control.cpp). The region `before` contains the condition, `after` the
// body; every changed name is an argument of both. On elements, the loop
// continues while the condition holds for any element. The other elements keep
// their values, so the body receives the condition, too.
void Lowering::whileLoop(
    const SourceRange &range,
    const std::function<std::optional<Tensor>()> &condition,
    const std::function<void()> &body) {
  OpBuilder &builder = emit.builder;
  LoopStart start = startLoop();
  auto visitBody = [&] {
    ++frame().loopDepth;
    onSomeElements += elements.has_value();
    body();
    onSomeElements -= elements.has_value();
    --frame().loopDepth;
  };
  ++dryRuns;
  auto draft =
      scf::WhileOp::create(builder, emit.location(), TypeRange(), ValueRange());
  builder.createBlock(&draft.getBefore());
  std::optional<Tensor> test = condition();
  if (test) {
    builder.createBlock(&draft.getAfter());
    visitBody();
    start.names = changedNames(start.scope, range, "");
  }
  --dryRuns;
  const Scope visited = frame().scope;
  draft.erase();
  restart(start);
  if (!test)
    return;

  scf::WhileOp op;
  Tensor active;
  Scope entered;
  do {
    const std::vector<mlir::Value> inits = initialParts(start);
    SmallVector<mlir::Type> types(ValueRange(inits).getTypes());
    SmallVector<Location> locations(types.size(), emit.location());
    SmallVector<mlir::Type> inside = types;
    if (elements)
      inside.push_back(toMlir(emit.context(), test->type));
    op = scf::WhileOp::create(builder, emit.location(), inside, inits);
    mlir::Block *head =
        builder.createBlock(&op.getBefore(), {}, types, locations);
    bindNames(start, head->getArguments());
    test = condition();
    SmallVector<mlir::Value> passed(head->getArguments());
    if (elements)
      passed.push_back(test->handle);
    scf::ConditionOp::create(builder, op.getLoc(), anyElement(*test).handle,
                             passed);
    locations.resize(inside.size(), emit.location());
    mlir::Block *block =
        builder.createBlock(&op.getAfter(), {}, inside, locations);
    frame().scope = start.scope;
    bindNames(start, block->getArguments().take_front(types.size()));
    if (elements)
      active = Tensor{block->getArguments().back(), test->type};
    entered = frame().scope;
    visitBody();
  } while (carriesMore(start, op, range, ""));
  yieldNames(start, elements ? &active : nullptr, &entered);
  builder.setInsertionPointAfter(op);
  loseNames(visited, start, range);
  frame().scope = start.scope;
  bindNames(start, op.getResults().take_front(op.getInits().size()));
}

} // namespace tessera::semantics
