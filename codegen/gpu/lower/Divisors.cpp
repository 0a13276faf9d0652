// codegen/gpu/lower/Divisors.cpp - copies of divisors, from which LLVM draws no
// conclusions.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/lower/Divisors.h"

#include "codegen/gpu/lower/Emitter.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/Transforms/Utils/Local.h"

namespace tessera::codegen::gpu {

llvm::Value *Divisors::copyOf(Emitter &e, llvm::Value *divisor) {
  if (auto *constant = llvm::dyn_cast<llvm::ConstantInt>(divisor);
      constant && !constant->isZero())
    return divisor;
  llvm::Type *type = divisor->getType();
  // PTX has no registers of 8 bits.
  const unsigned bits = std::max(16u, type->getIntegerBitWidth());
  const std::string word = std::to_string(bits);
  const char *constraint = bits == 64 ? "=l,l" : bits == 32 ? "=r,r" : "=h,h";
  llvm::Value *wide = e.b.CreateSExt(divisor, e.b.getIntNTy(bits));
  auto *call = llvm::cast<llvm::CallInst>(
      e.assembly("mov.b" + word + " $0, $1;", constraint, wide,
                 e.b.getIntNTy(bits), MemoryUse::None));
  call->setDoesNotAccessMemory();
  call->setDoesNotThrow();
  call->addFnAttr(llvm::Attribute::WillReturn);
  llvm::Value *result = e.b.CreateTrunc(call, type);
  copies.push_back({divisor, call, result});
  return result;
}

void Divisors::finish(const llvm::DataLayout &layout) {
  const llvm::SimplifyQuery query(layout);
  for (const Copy &copy : copies) {
    if (llvm::isKnownNonZero(copy.divisor, query)) {
      copy.result->replaceAllUsesWith(copy.divisor);
      llvm::RecursivelyDeleteTriviallyDeadInstructions(copy.result);
      continue;
    }
    // Quotients of non-negative numbers need no code for signs.
    const unsigned bits = copy.call->getType()->getIntegerBitWidth();
    if (llvm::computeKnownBits(copy.divisor, query).isNonNegative())
      copy.call->addRangeRetAttr(llvm::ConstantRange(
          llvm::APInt(bits, 0), llvm::APInt::getSignedMinValue(bits)));
  }
  copies.clear();
}

} // namespace tessera::codegen::gpu
