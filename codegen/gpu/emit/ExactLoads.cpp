// codegen/gpu/emit/ExactLoads.cpp - prevents loads wider than the kernel's.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/emit/ExactLoads.h"

#include "llvm/ADT/bit.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Pass.h"

namespace tessera::codegen::gpu {
namespace {

// Replaces a masked load by loads of the elements that `mask` selects. Each
// loads a power of two of neighbours and is aligned to its size.
void split(llvm::IntrinsicInst *load, llvm::Constant *mask) {
  llvm::IRBuilder<> b(load);
  auto *type = llvm::cast<llvm::FixedVectorType>(load->getType());
  llvm::Type *element = type->getElementType();
  const llvm::DataLayout &data = load->getDataLayout();
  const uint64_t bytes = data.getTypeStoreSize(element);
  const llvm::Align align = load->getParamAlign(0).valueOrOne();
  const unsigned count = type->getNumElements();
  const auto has = [&](unsigned lane) {
    return lane < count && mask->getAggregateElement(lane)->isOneValue();
  };
  llvm::Value *all = load->getArgOperand(2);
  for (unsigned lane = 0; lane < count;) {
    if (!has(lane)) {
      ++lane;
      continue;
    }
    unsigned run = 1;
    while (has(lane + run))
      ++run;
    const llvm::Align here = llvm::commonAlignment(align, lane * bytes);
    unsigned width = llvm::bit_floor(run);
    while (width > 1 && here.value() < width * bytes)
      width /= 2;
    llvm::Value *address = load->getArgOperand(0);
    if (lane)
      address = b.CreateConstInBoundsGEP1_64(element, address, lane);
    llvm::Type *part =
        width > 1 ? llvm::FixedVectorType::get(element, width) : element;
    llvm::LoadInst *piece = b.CreateAlignedLoad(part, address, here);
    piece->setAAMetadata(load->getAAMetadata());
    for (unsigned i = 0; i < width; ++i)
      all = b.CreateInsertElement(
          all, width > 1 ? b.CreateExtractElement(piece, i) : piece, lane + i);
    lane += width;
  }
  load->replaceAllUsesWith(all);
  load->eraseFromParent();
}

class ExactLoads : public llvm::FunctionPass {
public:
  static char ID;
  ExactLoads() : FunctionPass(ID) {}

  llvm::StringRef getPassName() const override { return "Exact loads"; }
  void getAnalysisUsage(llvm::AnalysisUsage &usage) const override {
    usage.setPreservesCFG();
  }
  bool runOnFunction(llvm::Function &function) override {
    llvm::SmallVector<llvm::IntrinsicInst *> loads;
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
          call && call->getIntrinsicID() == llvm::Intrinsic::masked_load &&
          llvm::isa<llvm::Constant>(call->getArgOperand(1)))
        loads.push_back(call);
    for (llvm::IntrinsicInst *load : loads)
      split(load, llvm::cast<llvm::Constant>(load->getArgOperand(1)));
    return !loads.empty();
  }
};

char ExactLoads::ID = 0;

} // namespace

llvm::FunctionPass *createExactLoadsPass() { return new ExactLoads; }

} // namespace tessera::codegen::gpu
