// compiler/semantics/CompileTime.cpp - runs functions at compile time.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A constexpr_function takes and returns compile-time values. The conditions of
// its loops and branches are known, so it may also `break`, `continue` and
// return from inside a loop.
#include "compiler/semantics/Lowering.h"

namespace tessera::semantics {

constexpr unsigned kMaxSteps = 1u << 16;

bool Lowering::knownCondition(const language::Expr &test) {
  Condition result = condition(test, "if");
  if (!result.known)
    fail(DiagnosticId::NotConstexpr, test.range,
         "this condition must be known at compile time");
  return *result.known;
}

Lowering::Flow Lowering::runAtCompileTime(const language::Block &block,
                                          Outcome &outcome) {
  for (const language::StmtPtr &stmt : block) {
    At at(*this, stmt->range);
    Flow flow = Flow::Next;
    if (auto *result = stmt->as<language::Return>()) {
      outcome = {true, result->value ? evaluate(*result->value) : Value::none(),
                 stmt->range};
      return Flow::Return;
    }
    if (stmt->is<language::Break>())
      return Flow::Break;
    if (stmt->is<language::Continue>())
      return Flow::Continue;
    if (auto *branch = stmt->as<language::If>())
      flow = runAtCompileTime(knownCondition(*branch->test) ? branch->body
                                                            : branch->orelse,
                              outcome);
    else if (stmt->is<language::For>() || stmt->is<language::While>())
      flow = loopAtCompileTime(*stmt, outcome);
    else
      visit(*stmt);
    if (flow != Flow::Next)
      return flow;
  }
  return Flow::Next;
}

Lowering::Flow Lowering::loopAtCompileTime(const language::Stmt &stmt,
                                           Outcome &outcome) {
  if (auto *loop = stmt.as<language::For>()) {
    Value iterable = evaluate(*loop->iterable);
    auto *range = iterable.range();
    auto *items = iterable.tupleValues();
    if (!range && !items)
      fail(DiagnosticId::BadLoop, loop->iterable->range,
           "`for` needs range or a tuple, got " + iterable.describe());
    for (const Value &item :
         range ? rangeValues(*loop, *range) : std::vector<Value>(*items)) {
      assign(*loop->target, item);
      Flow flow = runAtCompileTime(loop->body, outcome);
      if (flow == Flow::Return)
        return flow;
      if (flow == Flow::Break)
        break;
    }
    return Flow::Next;
  }
  auto &loop = stmt.to<language::While>();
  for (unsigned step = 0; knownCondition(*loop.test); ++step) {
    if (step == kMaxSteps)
      fail(DiagnosticId::UnrollLimit, loop.range,
           "this loop runs more than " + std::to_string(kMaxSteps) +
               " times while compiling");
    Flow flow = runAtCompileTime(loop.body, outcome);
    if (flow == Flow::Return)
      return flow;
    if (flow == Flow::Break)
      break;
  }
  return Flow::Next;
}

} // namespace tessera::semantics
