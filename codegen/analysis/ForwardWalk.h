// codegen/analysis/ForwardWalk.h - forward data-flow analysis over scf.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A forward data-flow analysis over scf.if, scf.for and scf.while, in program
// order. It visits the body of a loop until the state at its head no longer
// changes. So it may visit an operation several times; the state of the last
// visit covers all paths to the operation.
#pragma once

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tessera::codegen {

/// `State` is copyable. `bool join(const State &other)` merges `other` into the
/// state and returns true if the state changed. Chains of states must be
/// finite.
template <typename State>
class ForwardWalk {
public:
  virtual ~ForwardWalk() = default;

  void walk(mlir::Block &block, State &state) {
    for (mlir::Operation &op : block) {
      if (auto branch = mlir::dyn_cast<mlir::scf::IfOp>(op))
        walkBranch(branch, state);
      else if (auto loop = mlir::dyn_cast<mlir::scf::ForOp>(op))
        walkFor(loop, state);
      else if (auto loop = mlir::dyn_cast<mlir::scf::WhileOp>(op))
        walkWhile(loop, state);
      else
        visit(&op, state);
    }
  }

protected:
  /// Transfer function: updates `state` from before `op` to after it. It may
  /// insert operations before `op`.
  virtual void visit(mlir::Operation *op, State &state) = 0;

  /// Updates the state between the end of one iteration and the next one's
  /// start.
  virtual void carry(State &, mlir::Operation * /*loop*/) {}

  /// Transfers facts about the values `from` to the values `to`, which control
  /// flow defines: results of branches and loops, and arguments of loop bodies.
  virtual void hand(mlir::ValueRange /*from*/, mlir::ValueRange /*to*/,
                    State &) {}

private:
  void walkBranch(mlir::scf::IfOp branch, State &state) {
    State other = state;
    walk(branch.getThenRegion().front(), state);
    hand(branch.thenYield().getOperands(), branch.getResults(), state);
    if (!branch.getElseRegion().empty()) {
      walk(branch.getElseRegion().front(), other);
      hand(branch.elseYield().getOperands(), branch.getResults(), other);
    }
    state.join(other);
  }

  void walkFor(mlir::scf::ForOp loop, State &state) {
    State head = state;
    hand(loop.getInitArgs(), loop.getRegionIterArgs(), head);
    hand(loop.getInitArgs(), loop.getResults(), state);
    repeat(loop, head, [&](State &iteration) {
      walk(*loop.getBody(), iteration);
      State left = iteration;
      hand(loop.getYieldedValues(), loop.getResults(), left);
      state.join(left); // The loop may have no iterations.
      hand(loop.getYieldedValues(), loop.getRegionIterArgs(), iteration);
    });
  }

  void walkWhile(mlir::scf::WhileOp loop, State &state) {
    State left;
    auto passed = loop.getConditionOp().getArgs();
    hand(loop.getInits(), loop.getBeforeArguments(), state);
    repeat(loop, state, [&](State &iteration) {
      walk(*loop.getBeforeBody(), iteration);
      left = iteration; // The loop exits after its condition.
      hand(passed, loop.getResults(), left);
      hand(passed, loop.getAfterArguments(), iteration);
      walk(*loop.getAfterBody(), iteration);
      hand(loop.getYieldOp().getOperands(), loop.getBeforeArguments(),
           iteration);
    });
    state = left;
  }

  void repeat(mlir::Operation *loop, State head,
              llvm::function_ref<void(State &)> body) {
    for (bool grows = true; grows;) {
      State iteration = head;
      body(iteration);
      carry(iteration, loop);
      grows = head.join(iteration);
    }
  }
};

} // namespace tessera::codegen
