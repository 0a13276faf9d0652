// codegen/gpu/lower/Control.cpp - loops, branches, program ids.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/lower/Emitter.h"
#include "codegen/gpu/lower/Families.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace mlir;

namespace tessera::codegen::gpu {

namespace {
// One phi for each register of the carried values.
class Phis {
public:
  Phis(Emitter &e, TypeRange types) {
    for (llvm::Type *type : e.flatTypes(types))
      phis.push_back(e.b.CreatePHI(type, 2));
  }
  void add(llvm::ArrayRef<llvm::Value *> values, llvm::BasicBlock *from) {
    for (auto [phi, value] : llvm::zip(phis, values))
      phi->addIncoming(value, from);
  }
  Registers values() const { return {phis.begin(), phis.end()}; }

private:
  llvm::SmallVector<llvm::PHINode *> phis;
};
} // namespace

static llvm::BasicBlock *newBlock(Emitter &e, const char *name) {
  return llvm::BasicBlock::Create(e.b.getContext(), name, e.function);
}

// Emits a loop over lower, lower + step, ... below upper. The sum counter +
// step may overflow, so the loop tests counter < upper - step before it adds.
static void emitFor(Emitter &e, scf::ForOp loop) {
  llvm::Value *lower = e.scalar(loop.getLowerBound());
  llvm::Value *upper = e.scalar(loop.getUpperBound());
  llvm::Value *step = e.scalar(loop.getStep());
  Registers init = e.flatten(loop.getInitArgs());
  llvm::Type *type = lower->getType();
  // upper - step, or the least number of the type if that overflows: no counter
  // is below it. Steps are at least 1.
  llvm::Value *least = llvm::ConstantInt::get(
      type, llvm::APInt::getSignedMinValue(type->getIntegerBitWidth()));
  llvm::Value *last =
      e.b.CreateSub(e.b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, upper,
                                              e.b.CreateAdd(least, step)),
                    step);
  auto *before = e.b.GetInsertBlock();
  auto *body = newBlock(e, "body"), *exit = newBlock(e, "done");
  e.b.CreateCondBr(e.b.CreateICmpSLT(lower, upper), body, exit);
  e.b.SetInsertPoint(body);
  auto *counter = e.b.CreatePHI(type, 2, "i");
  Phis carried(e, ValueRange(loop.getRegionIterArgs()).getTypes());
  e.set(loop.getInductionVar(), {counter});
  e.unflatten(loop.getRegionIterArgs(), carried.values());
  e.emitBlock(*loop.getBody());
  Registers next = e.flatten(loop.getBody()->getTerminator()->getOperands());
  // Only a next iteration uses the sum, and then it does not overflow.
  llvm::Value *increased = e.b.CreateNSWAdd(counter, step);
  auto *latch = e.b.GetInsertBlock();
  e.b.CreateCondBr(e.b.CreateICmpSLT(counter, last), body, exit);
  counter->addIncoming(lower, before);
  counter->addIncoming(increased, latch);
  carried.add(init, before);
  carried.add(next, latch);
  e.b.SetInsertPoint(exit);
  Phis results(e, loop.getResultTypes());
  results.add(init, before);
  results.add(next, latch);
  e.unflatten(loop.getResults(), results.values());
}

static void emitIf(Emitter &e, scf::IfOp branch) {
  auto *then = newBlock(e, "then"), *end = newBlock(e, "endif");
  bool hasElse = !branch.getElseRegion().empty();
  auto *otherwise = hasElse ? newBlock(e, "else") : end;
  e.b.CreateCondBr(e.scalar(branch.getCondition()), then, otherwise);
  auto arm = [&](Region &region, llvm::BasicBlock *block) {
    e.b.SetInsertPoint(block);
    e.emitBlock(region.front());
    Registers results =
        e.flatten(region.front().getTerminator()->getOperands());
    auto *last = e.b.GetInsertBlock();
    e.b.CreateBr(end);
    return std::pair(results, last);
  };
  auto [thenValues, thenLast] = arm(branch.getThenRegion(), then);
  if (!hasElse) {
    e.b.SetInsertPoint(end);
    return;
  }
  auto [elseValues, elseLast] = arm(branch.getElseRegion(), otherwise);
  e.b.SetInsertPoint(end);
  Phis results(e, branch.getResultTypes());
  results.add(thenValues, thenLast);
  results.add(elseValues, elseLast);
  e.unflatten(branch.getResults(), results.values());
}

static void emitWhile(Emitter &e, scf::WhileOp loop) {
  Registers init = e.flatten(loop.getInits());
  auto *before = e.b.GetInsertBlock();
  auto *header = newBlock(e, "while"), *body = newBlock(e, "body"),
       *exit = newBlock(e, "done");
  e.b.CreateBr(header);
  e.b.SetInsertPoint(header);
  Phis carried(e, ValueRange(loop.getBeforeArguments()).getTypes());
  e.unflatten(loop.getBeforeArguments(), carried.values());
  e.emitBlock(*loop.getBeforeBody());
  auto condition = loop.getConditionOp();
  Registers passed = e.flatten(condition.getArgs());
  e.b.CreateCondBr(e.scalar(condition.getCondition()), body, exit);
  e.b.SetInsertPoint(body);
  e.unflatten(loop.getAfterArguments(), passed);
  e.emitBlock(*loop.getAfterBody());
  Registers next = e.flatten(loop.getYieldOp().getOperands());
  auto *latch = e.b.GetInsertBlock();
  e.b.CreateBr(header);
  carried.add(init, before);
  carried.add(next, latch);
  e.b.SetInsertPoint(exit);
  e.unflatten(loop.getResults(), passed);
}

bool emitControl(Emitter &e, Operation *op) {
  using namespace llvm::Intrinsic;
  static constexpr llvm::Intrinsic::ID ids[] = {nvvm_read_ptx_sreg_ctaid_x,
                                                nvvm_read_ptx_sreg_ctaid_y,
                                                nvvm_read_ptx_sreg_ctaid_z};
  static constexpr llvm::Intrinsic::ID sizes[] = {nvvm_read_ptx_sreg_nctaid_x,
                                                  nvvm_read_ptx_sreg_nctaid_y,
                                                  nvvm_read_ptx_sreg_nctaid_z};
  if (auto loop = dyn_cast<scf::ForOp>(op))
    emitFor(e, loop);
  else if (auto branch = dyn_cast<scf::IfOp>(op))
    emitIf(e, branch);
  else if (auto loop = dyn_cast<scf::WhileOp>(op))
    emitWhile(e, loop);
  else if (auto id = dyn_cast<tile::ProgramIdOp>(op))
    e.set(id, {e.intrinsic(ids[id.getAxis()], {})});
  else if (auto size = dyn_cast<tile::NumProgramsOp>(op))
    e.set(size, {e.intrinsic(sizes[size.getAxis()], {})});
  else
    return false;
  return true;
}

} // namespace tessera::codegen::gpu
