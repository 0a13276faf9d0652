// codegen/gpu/lower/Address.cpp - adds offsets to the pointers of a tile.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/lower/Address.h"

#include "llvm/IR/Instructions.h"
#include "llvm/IR/Operator.h"

#include <map>

namespace tessera::codegen::gpu {

namespace {

// The byte offset `offset` * size of `step`. `offset` has at most 64 bits.
struct Term {
  llvm::Type *step;
  llvm::Value *offset;
  auto operator<=>(const Term &) const = default;
};

// The address base + sum of terms + bytes.
struct Sum {
  llvm::Value *base = nullptr;
  llvm::SmallVector<Term, 4> terms;
  int64_t bytes = 0;
};

} // namespace

static int64_t sizeOf(llvm::Type *step) {
  return int64_t(step->getIntegerBitWidth() / 8);
}

// Adds `offset` * size of `step` to `sum`. A constant addend of the offset goes
// to `bytes` if the addition has nsw or 64 bits: the 64-bit sum is the same.
static void add(Sum &sum, llvm::Type *step, llvm::Value *offset) {
  if (auto *wide = llvm::dyn_cast<llvm::SExtInst>(offset))
    offset = wide->getOperand(0);
  while (auto *inner = llvm::dyn_cast<llvm::AddOperator>(offset)) {
    auto *constant = llvm::dyn_cast<llvm::ConstantInt>(inner->getOperand(1));
    if (!constant || !(inner->hasNoSignedWrap() ||
                       inner->getType()->getIntegerBitWidth() == 64))
      break;
    sum.bytes += constant->getSExtValue() * sizeOf(step);
    offset = inner->getOperand(0);
  }
  if (auto *constant = llvm::dyn_cast<llvm::ConstantInt>(offset))
    sum.bytes += constant->getSExtValue() * sizeOf(step);
  else
    sum.terms.push_back({step, offset});
}

// Splits a chain of GEPs, as addOffsets() emits them, into base and terms. Any
// other pointer becomes the base.
static Sum sumOf(llvm::Value *pointer) {
  llvm::SmallVector<llvm::GetElementPtrInst *, 4> chain;
  while (auto *inner = llvm::dyn_cast<llvm::GetElementPtrInst>(pointer)) {
    if (inner->getNumIndices() != 1 ||
        !inner->getSourceElementType()->isIntegerTy())
      break;
    chain.push_back(inner);
    pointer = inner->getPointerOperand();
  }
  Sum sum;
  sum.base = pointer;
  for (llvm::GetElementPtrInst *inner : llvm::reverse(chain))
    add(sum, inner->getSourceElementType(), inner->getOperand(1));
  return sum;
}

Registers addOffsets(Emitter &e, llvm::Type *step,
                     llvm::ArrayRef<llvm::Value *> pointers,
                     llvm::ArrayRef<llvm::Value *> offsets) {
  llvm::Type *word = e.b.getInt64Ty();
  if (pointers.size() == 1)
    return {e.b.CreateGEP(step, pointers[0],
                          e.b.CreateSExtOrTrunc(offsets[0], word))};
  llvm::SmallVector<Sum> sums;
  std::map<Term, int64_t> uses;
  for (auto [pointer, offset] : llvm::zip(pointers, offsets)) {
    Sum &sum = sums.emplace_back(sumOf(pointer));
    add(sum, step, offset);
    for (const Term &term : sum.terms)
      ++uses[term];
  }
  std::map<std::pair<llvm::Value *, Term>, llvm::Value *> known;
  Registers result;
  for (Sum &sum : sums) {
    llvm::stable_sort(sum.terms, [&](const Term &x, const Term &y) {
      return uses[x] > uses[y];
    });
    llvm::Value *pointer = sum.base;
    for (const Term &term : sum.terms) {
      llvm::Value *&next = known[{pointer, term}];
      if (!next)
        next = e.b.CreateGEP(term.step, pointer,
                             e.b.CreateSExtOrTrunc(term.offset, word));
      pointer = next;
    }
    if (sum.bytes)
      pointer =
          e.b.CreateGEP(e.b.getInt8Ty(), pointer, e.b.getInt64(sum.bytes));
    result.push_back(pointer);
  }
  return result;
}

} // namespace tessera::codegen::gpu
