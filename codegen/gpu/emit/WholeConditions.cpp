// codegen/gpu/emit/WholeConditions.cpp - one select per compound condition.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/emit/WholeConditions.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm::PatternMatch;

namespace tessera::codegen::gpu {

void keepConditionsWhole(llvm::Module &module) {
  llvm::SmallVector<llvm::SelectInst *> selects;
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function)) {
      auto *select = llvm::dyn_cast<llvm::SelectInst>(&instruction);
      if (!select)
        continue;
      llvm::Type *type = select->getType();
      llvm::Value *condition = select->getCondition();
      bool parts = match(condition, m_LogicalAnd(m_Value(), m_Value())) ||
                   match(condition, m_LogicalOr(m_Value(), m_Value()));
      if (parts && (type->isFloatTy() || type->isIntegerTy(32)))
        selects.push_back(select);
    }
  for (llvm::SelectInst *select : selects) {
    llvm::IRBuilder<> b(select);
    llvm::Type *type = select->getType();
    const bool real = type->isFloatTy();
    auto *shape =
        llvm::FunctionType::get(type, {type, type, b.getInt1Ty()}, false);
    llvm::Value *chosen =
        b.CreateCall(llvm::InlineAsm::get(shape,
                                          real ? "selp.f32 $0, $1, $2, $3;"
                                               : "selp.b32 $0, $1, $2, $3;",
                                          real ? "=f,f,f,b" : "=r,r,r,b",
                                          /*hasSideEffects=*/false),
                     {select->getTrueValue(), select->getFalseValue(),
                      select->getCondition()});
    select->replaceAllUsesWith(chosen);
    select->eraseFromParent();
  }
}

} // namespace tessera::codegen::gpu
