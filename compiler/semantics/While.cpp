// compiler/semantics/While.cpp - while loops, and what any loop changes.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Lowering.h"

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

bool Lowering::carriesMore(std::vector<std::string> &carried,
                           mlir::Operation *loop, const Scope &before,
                           const SourceRange &range,
                           const std::string &except) {
  const std::vector<std::string> more =
      changedNames(before, range, except, carried);
  if (more.empty())
    return false;
  carried.insert(carried.end(), more.begin(), more.end());
  loop->erase();
  frame().scope = before;
  return true;
}

// Like a `for` at run time the loop is visited twice, see Control.cpp. The
// condition stands in the region `before`, the body in `after`; every changed
// name goes through both.
void Lowering::visitWhile(const language::While &stmt) {
  OpBuilder &builder = emit.builder;
  if (elements)
    return loopOnElements(
        stmt.range,
        [&] {
          Condition test = condition(*stmt.test, "while");
          if (test.known)
            fail(DiagnosticId::BadLoop, stmt.test->range,
                 "the condition of this `while` does not change",
                 "test a value that the body changes");
          return *spread(test.value).tensor();
        },
        [&] { visitBlock(stmt.body); });
  const Scope before = frame().scope;
  const auto lostBefore = frame().lost;
  OpBuilder::InsertPoint outside = builder.saveInsertionPoint();
  auto visitBody = [&] {
    ++frame().loopDepth;
    visitBlock(stmt.body);
    --frame().loopDepth;
  };

  ++dryRuns;
  auto draft =
      scf::WhileOp::create(builder, emit.location(), TypeRange(), ValueRange());
  builder.createBlock(&draft.getBefore());
  Condition test = condition(*stmt.test, "while");
  if (test.known && *test.known)
    fail(DiagnosticId::BadLoop, stmt.test->range,
         "the condition of this `while` is always true",
         "test a value that the body changes");
  std::vector<std::string> names;
  if (!test.known) {
    builder.createBlock(&draft.getAfter());
    visitBody();
    names = changedNames(before, stmt.range, "");
  }
  --dryRuns;
  const Scope visited = frame().scope;
  draft.erase();
  builder.restoreInsertionPoint(outside);
  frame().scope = before;
  frame().lost = lostBefore;
  if (test.known)
    return;

  auto bind = [&](ValueRange values) {
    std::vector<mlir::Value> parts(values.begin(), values.end());
    size_t next = 0;
    for (const std::string &name : names) {
      const Variable &variable = before.find(name)->second;
      frame().scope[name] = {rebuild(variable.value, parts, next),
                             variable.where};
    }
  };

  scf::WhileOp op;
  do {
    builder.restoreInsertionPoint(outside);
    frame().lost = lostBefore;
    std::vector<mlir::Value> inits;
    for (const std::string &name : names)
      flatten(before.find(name)->second.value, inits);
    SmallVector<mlir::Type> types;
    SmallVector<Location> locations(inits.size(), emit.location());
    for (mlir::Value init : inits)
      types.push_back(init.getType());
    op = scf::WhileOp::create(builder, emit.location(), types, inits);
    mlir::Block *head =
        builder.createBlock(&op.getBefore(), {}, types, locations);
    bind(head->getArguments());
    test = condition(*stmt.test, "while");
    scf::ConditionOp::create(builder, op.getLoc(), test.value.handle,
                             head->getArguments());
    mlir::Block *body =
        builder.createBlock(&op.getAfter(), {}, types, locations);
    frame().scope = before;
    bind(body->getArguments());
    visitBody();
  } while (carriesMore(names, op, before, stmt.range, ""));
  std::vector<mlir::Value> yields;
  for (const std::string &name : names) {
    const Variable &variable = frame().scope[name];
    checkCarried(name, before.find(name)->second, variable);
    flatten(variable.value, yields);
  }
  scf::YieldOp::create(builder, op.getLoc(), yields);
  builder.setInsertionPointAfter(op);

  for (const auto &[name, variable] : visited)
    if (!before.count(name))
      frame().lost[name] = "it is assigned only inside the loop of line " +
                           std::to_string(stmt.range.line);
  frame().scope = before;
  bind(op.getResults());
}

} // namespace tessera::semantics
