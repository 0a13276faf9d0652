// codegen/cpu/NullBases.cpp - rejects accesses whose base is a null pointer.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/cpu/ToLlvm.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace tessera::codegen::cpu {
namespace {

bool isPointer(Value value) {
  return isa<LLVM::LLVMPointerType>(getElementTypeOrSelf(value.getType()));
}

// Operations that pass a pointer on without using it as an address.
bool passesOn(Operation *op) {
  return isa<LLVM::SelectOp, LLVM::FreezeOp, LLVM::InsertElementOp,
             LLVM::ExtractElementOp, LLVM::ShuffleVectorOp>(op);
}

// True if `use` is the base of a memory access or of an address computation.
// An operation that this function does not know counts as an access.
bool isBase(OpOperand &use) {
  Operation *op = use.getOwner();
  if (!isPointer(use.get()) || !isa<LLVM::LLVMDialect>(op->getDialect()))
    return false;
  if (auto store = dyn_cast<LLVM::StoreOp>(op))
    return use.getOperandNumber() == store.getAddrMutable().getOperandNumber();
  return !passesOn(op) && !isa<LLVM::PtrToIntOp, LLVM::ICmpOp, LLVM::CallOp,
                               LLVM::ReturnOp, BranchOpInterface>(op);
}

// Appends the values that branches pass to a block's argument.
void addIncoming(BlockArgument argument, SmallVectorImpl<Value> &values) {
  Block *block = argument.getOwner();
  for (auto it = block->pred_begin(); it != block->pred_end(); ++it)
    if (auto branch = dyn_cast<BranchOpInterface>((*it)->getTerminator()))
      if (Value value = branch.getSuccessorOperands(
              it.getSuccessorIndex())[argument.getArgNumber()])
        values.push_back(value);
}

// True if a constant null pointer can reach `pointer` through address
// computations, selections and branches.
bool nullReaches(Value pointer) {
  SmallVector<Value> work = {pointer};
  llvm::SmallPtrSet<void *, 8> seen;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (!seen.insert(next.getAsOpaquePointer()).second)
      continue;
    Operation *op = next.getDefiningOp();
    if (!op)
      addIncoming(cast<BlockArgument>(next), work);
    else if (isa<LLVM::ZeroOp>(op))
      return true;
    else if (passesOn(op) || isa<LLVM::GEPOp>(op))
      llvm::copy_if(op->getOperands(), std::back_inserter(work), isPointer);
  }
  return false;
}

struct RejectNullBasesPass
    : public PassWrapper<RejectNullBasesPass, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RejectNullBasesPass)

  StringRef getArgument() const final { return "tessera-reject-null-bases"; }
  StringRef getDescription() const final {
    return "Report accesses whose base is a constant null pointer";
  }
  void runOnOperation() final {
    getOperation()->walk([&](Operation *op) {
      for (OpOperand &use : op->getOpOperands())
        if (isBase(use) && nullReaches(use.get())) {
          op->emitError("internal error: the base address of `")
              << op->getName()
              << "` is a constant null pointer, so LLVM would delete the "
                 "access";
          signalPassFailure();
          return;
        }
    });
  }
};

} // namespace

std::unique_ptr<Pass> createRejectNullBasesPass() {
  return std::make_unique<RejectNullBasesPass>();
}

} // namespace tessera::codegen::cpu
