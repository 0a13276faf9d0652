// codegen/gpu/lower/global/VectorAccess.cpp - elements of a lane as words of an
// instruction.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/lower/global/VectorAccess.h"

#include <algorithm>

using namespace mlir;

namespace tessera::codegen::gpu {

std::string VectorAccess::suffix() const {
  std::string vector = words > 1 ? ".v" + std::to_string(words) : "";
  return vector + ".b" + std::to_string(wordBits);
}

VectorAccess accessFor(int64_t bytes, int64_t run) {
  run = std::max<int64_t>(1, std::min(run, 16 / bytes));
  int64_t total = bytes * run;
  int64_t word = bytes == 8 ? 8 : std::min<int64_t>(total, 4);
  return {run, total / word, word * 8};
}

int64_t vectorOf(Operation *op, llvm::ArrayRef<int64_t> sources) {
  auto attr = op->getAttrOfType<IntegerAttr>(kVectorAttr);
  int64_t run = attr ? attr.getInt() : 1;
  if (run < 1 || (run & (run - 1)) || run > int64_t(sources.size()))
    return 1;
  // Registers that replicate others must replicate a run in its order.
  for (size_t index = 0; index < sources.size(); ++index)
    if (sources[index] !=
        sources[index & ~size_t(run - 1)] + int64_t(index & size_t(run - 1)))
      return 1;
  return run;
}

llvm::Type *wordType(Emitter &e, llvm::Type *element,
                     const VectorAccess &access) {
  if (access.perWord() > 1)
    return e.b.getIntNTy(unsigned(access.wordBits));
  if (element->isPointerTy())
    return e.b.getInt64Ty();
  if (access.wordBits >= 32)
    return element;
  return e.b.getInt16Ty();
}

char constraintOf(llvm::Type *word) {
  if (word->isFloatTy())
    return 'f';
  if (word->isDoubleTy())
    return 'd';
  switch (word->getIntegerBitWidth()) {
  case 16:
    return 'h';
  case 32:
    return 'r';
  default:
    return 'l';
  }
}

// Converts an element to its form in memory: i1 to a byte, a pointer to i64.
static llvm::Value *toMemory(Emitter &e, llvm::Value *value) {
  llvm::Type *type = value->getType();
  if (type->isIntegerTy(1))
    return e.b.CreateZExt(value, e.b.getInt8Ty());
  if (type->isPointerTy())
    return e.b.CreatePtrToInt(value, e.b.getInt64Ty());
  return value;
}

static llvm::Value *fromMemory(Emitter &e, llvm::Value *value,
                               llvm::Type *element) {
  if (element->isIntegerTy(1))
    return e.b.CreateICmpNE(value, e.b.getInt8(0));
  if (element->isPointerTy())
    return e.b.CreateIntToPtr(value, element);
  return value;
}

static llvm::Type *memoryType(Emitter &e, llvm::Type *element) {
  if (element->isIntegerTy(1))
    return e.b.getInt8Ty();
  return element->isPointerTy() ? e.b.getInt64Ty() : element;
}

Registers packWords(Emitter &e, llvm::ArrayRef<llvm::Value *> elements,
                    const VectorAccess &access) {
  Registers words;
  llvm::Type *type = wordType(e, elements[0]->getType(), access);
  size_t perWord = size_t(access.perWord());
  for (size_t at = 0; at < elements.size(); at += perWord) {
    llvm::Value *word = toMemory(e, elements[at]);
    if (perWord > 1) {
      auto *vector =
          llvm::FixedVectorType::get(word->getType(), unsigned(perWord));
      llvm::Value *packed = llvm::PoisonValue::get(vector);
      for (size_t i = 0; i < perWord; ++i)
        packed =
            e.b.CreateInsertElement(packed, toMemory(e, elements[at + i]), i);
      word = e.b.CreateBitCast(packed, type);
    } else if (word->getType() != type) {
      unsigned bits = unsigned(access.wordBits);
      word = e.b.CreateZExt(e.b.CreateBitCast(word, e.b.getIntNTy(bits)), type);
    }
    words.push_back(word);
  }
  return words;
}

Registers unpackWords(Emitter &e, llvm::ArrayRef<llvm::Value *> words,
                      llvm::Type *element, const VectorAccess &access) {
  Registers elements;
  llvm::Type *type = memoryType(e, element);
  unsigned perWord = unsigned(access.perWord());
  for (llvm::Value *word : words) {
    if (perWord > 1) {
      llvm::Value *packed =
          e.b.CreateBitCast(word, llvm::FixedVectorType::get(type, perWord));
      for (unsigned i = 0; i < perWord; ++i)
        elements.push_back(
            fromMemory(e, e.b.CreateExtractElement(packed, i), element));
      continue;
    }
    if (word->getType() != type) {
      unsigned bits = unsigned(access.wordBits);
      word =
          e.b.CreateBitCast(e.b.CreateTrunc(word, e.b.getIntNTy(bits)), type);
    }
    elements.push_back(fromMemory(e, word, element));
  }
  return elements;
}

std::string wordOperands(int64_t first, int64_t words) {
  if (words == 1)
    return "$" + std::to_string(first);
  std::string text;
  for (int64_t word = 0; word < words; ++word)
    text += (word ? ", $" : "{$") + std::to_string(first + word);
  return text + "}";
}

Registers results(Emitter &e, llvm::Value *call, int64_t count) {
  if (count == 1)
    return {call};
  Registers values;
  for (unsigned index = 0; index < count; ++index)
    values.push_back(e.b.CreateExtractValue(call, index));
  return values;
}

llvm::Value *both(Emitter &e, llvm::Value *a, llvm::Value *b) {
  for (llvm::Value **side : {&a, &b})
    if (auto *constant = llvm::dyn_cast_or_null<llvm::ConstantInt>(*side);
        constant && constant->isOne())
      *side = nullptr;
  if (!a || !b)
    return a ? a : b;
  return e.b.CreateAnd(a, b);
}

} // namespace tessera::codegen::gpu
