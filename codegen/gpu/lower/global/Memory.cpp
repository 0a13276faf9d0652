// codegen/gpu/lower/global/Memory.cpp - loads and stores of global memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Accesses of all threads are LLVM loads and stores, which LLVM may move.
// Accesses of some threads, or with cache modifiers, are inline PTX with a
// predicate: LLVM would branch (docs/compiler/gpu-lowering.md, "Memory").
#include "codegen/gpu/lower/Families.h"
#include "codegen/gpu/lower/global/VectorAccess.h"

using namespace mlir;

namespace tessera::codegen::gpu {

static bool isNever(llvm::Value *mask) {
  auto *constant = llvm::dyn_cast_or_null<llvm::ConstantInt>(mask);
  return constant && constant->isZero();
}

// Returns a modifier such as ".cg" or ".L1::evict_first". PTX does not accept
// both kinds together.
template <typename Op>
static std::string modifiersOf(Op op) {
  if (auto cache = op.getCache())
    return stringifyEnum(*cache).str();
  if (auto eviction = op.getEviction())
    return ".L1::" + stringifyEnum(*eviction).str();
  return "";
}

// Declares the memory effects of inline PTX, so that LLVM may move other
// instructions across it.
static void touchesOnly(llvm::Value *call, llvm::MemoryEffects effects) {
  auto *instruction = llvm::cast<llvm::CallInst>(call);
  instruction->setMemoryEffects(effects);
  instruction->setDoesNotThrow();
  instruction->addFnAttr(llvm::Attribute::WillReturn);
}

namespace {
struct Load {
  Emitter &e;
  llvm::Type *element;
  VectorAccess access;
  std::string modifiers; // after "ld", before the vector
  bool isVolatile, plain;

  Registers operator()(llvm::Value *address, llvm::Value *mask,
                       llvm::ArrayRef<llvm::Value *> other) const {
    if (isNever(mask))
      return Registers(other);
    mask = both(e, mask, nullptr);
    Registers words =
        mask || !plain ? predicated(address, mask, other) : everywhere(address);
    return unpackWords(e, words, element, access);
  }

private:
  Registers everywhere(llvm::Value *address) const {
    llvm::Type *word = wordType(e, element, access);
    // LLVM folds the extension of a byte into the load.
    llvm::Type *inMemory = word->isFloatingPointTy()
                               ? word
                               : e.b.getIntNTy(unsigned(access.wordBits));
    unsigned words = unsigned(access.words);
    llvm::Type *type =
        words > 1 ? llvm::FixedVectorType::get(inMemory, words) : inMemory;
    llvm::Value *loaded = e.b.CreateAlignedLoad(
        type, address, llvm::Align(uint64_t(access.bytes())), isVolatile);
    Registers result;
    for (unsigned index = 0; index < words; ++index) {
      llvm::Value *part =
          words > 1 ? e.b.CreateExtractElement(loaded, index) : loaded;
      result.push_back(inMemory == word ? part : e.b.CreateZExt(part, word));
    }
    return result;
  }

  // Emits a load that leaves `other` in the registers if `mask` is false.
  Registers predicated(llvm::Value *address, llvm::Value *mask,
                       llvm::ArrayRef<llvm::Value *> other) const {
    llvm::Type *word = wordType(e, element, access);
    int64_t words = access.words;
    std::string text, outs, ties;
    Registers operands = {address};
    if (mask) {
      text = "@$" + std::to_string(words + 1) + " ";
      ties = ",b";
      operands.push_back(mask);
      for (auto [index, value] : llvm::enumerate(packWords(e, other, access))) {
        ties += "," + std::to_string(index);
        operands.push_back(value);
      }
    }
    text += "ld" + modifiers + access.suffix() + " " + wordOperands(0, words) +
            ", [$" + std::to_string(words) + "];";
    for (int64_t index = 0; index < words; ++index)
      outs += std::string("=") + constraintOf(word) + ",";
    llvm::Type *type = word;
    if (words > 1)
      type = llvm::StructType::get(
          e.b.getContext(),
          llvm::SmallVector<llvm::Type *>(size_t(words), word));
    llvm::Value *call =
        e.assembly(text, outs + "l" + ties, operands, type,
                   isVolatile ? MemoryUse::Write : MemoryUse::Read);
    if (!isVolatile)
      touchesOnly(call, llvm::MemoryEffects::argMemOnly(llvm::ModRefInfo::Ref));
    return results(e, call, words);
  }
};
} // namespace

static llvm::Value *zeroOf(llvm::Type *type) {
  return llvm::Constant::getNullValue(type);
}

static void emitLoad(Emitter &e, tile::LoadOp op) {
  const layout::LinearLayout &layout = e.layoutOf(op.getType());
  Type type = tile::elementType(op.getType());
  llvm::SmallVector<int64_t> sources = e.registerSources(layout);
  VectorAccess access = accessFor(bytesInMemory(type), vectorOf(op, sources));
  std::string modifiers = modifiersOf(op);
  bool isVolatile = op.getIsVolatile();
  Load load{e,          e.typeOf(type),
            access,     isVolatile ? ".volatile.global" : ".global" + modifiers,
            isVolatile, isVolatile || modifiers.empty()};
  const Registers pointers = e.get(op.getPtr());
  const Registers masks = op.getMask() ? e.get(op.getMask()) : Registers();
  // Without `other`, masked-off elements are zero, as on cpu
  // (docs/numerics.md).
  const Registers others =
      op.getOther() ? e.get(op.getOther())
                    : Registers(pointers.size(), zeroOf(load.element));
  Registers result(pointers.size());
  for (size_t at = 0; at < pointers.size(); at += size_t(access.elements)) {
    Registers group;
    if (size_t source = size_t(sources[at]); source != at)
      for (int64_t i = 0; i < access.elements; ++i)
        group.push_back(result[source + size_t(i)]);
    else
      group = load(pointers[at], masks.empty() ? nullptr : masks[at],
                   llvm::ArrayRef(others).slice(at, size_t(access.elements)));
    llvm::copy(group, result.begin() + long(at));
  }
  e.set(op, result);
}

static void storeWords(Emitter &e, llvm::ArrayRef<llvm::Value *> words,
                       llvm::Value *address, llvm::Value *mask,
                       const VectorAccess &access,
                       const std::string &modifiers) {
  if (!mask && modifiers.empty()) {
    llvm::Value *value = words[0];
    if (words.size() > 1) {
      value = llvm::PoisonValue::get(
          llvm::FixedVectorType::get(value->getType(), unsigned(words.size())));
      for (auto [index, word] : llvm::enumerate(words))
        value = e.b.CreateInsertElement(value, word, index);
    } else if (access.wordBits < 32) {
      value = e.b.CreateTrunc(value, e.b.getIntNTy(unsigned(access.wordBits)));
    }
    e.b.CreateAlignedStore(value, address,
                           llvm::Align(uint64_t(access.bytes())));
    return;
  }
  int64_t count = access.words;
  std::string text, constraints = "l";
  Registers operands = {address};
  for (llvm::Value *word : words) {
    constraints += std::string(",") + constraintOf(word->getType());
    operands.push_back(word);
  }
  if (mask) {
    text = "@$" + std::to_string(count + 1) + " ";
    constraints += ",b";
    operands.push_back(mask);
  }
  text += "st.global" + modifiers + access.suffix() + " [$0], " +
          wordOperands(1, count) + ";";
  llvm::Value *call = e.assembly(text, constraints, operands, e.b.getVoidTy(),
                                 MemoryUse::Write);
  touchesOnly(call, llvm::MemoryEffects::argMemOnly(llvm::ModRefInfo::Mod));
}

static void emitStore(Emitter &e, tile::StoreOp op) {
  const layout::LinearLayout &layout = e.layoutOf(op.getValue().getType());
  Type type = tile::elementType(op.getValue().getType());
  llvm::SmallVector<int64_t> sources = e.registerSources(layout);
  VectorAccess access = accessFor(bytesInMemory(type), vectorOf(op, sources));
  std::string modifiers = modifiersOf(op);
  const Registers pointers = e.get(op.getPtr()), values = e.get(op.getValue());
  const Registers masks = op.getMask() ? e.get(op.getMask()) : Registers();
  llvm::Value *first = e.isFirstReplica(layout);
  for (size_t at = 0; at < values.size(); at += size_t(access.elements)) {
    llvm::Value *mask = masks.empty() ? nullptr : masks[at];
    if (size_t(sources[at]) != at || isNever(mask))
      continue;
    Registers packed = packWords(
        e, llvm::ArrayRef(values).slice(at, size_t(access.elements)), access);
    storeWords(e, packed, pointers[at], both(e, mask, first), access,
               modifiers);
  }
}

bool emitMemory(Emitter &e, Operation *op) {
  if (auto load = dyn_cast<tile::LoadOp>(op))
    emitLoad(e, load);
  else if (auto store = dyn_cast<tile::StoreOp>(op))
    emitStore(e, store);
  else
    return false;
  return true;
}

} // namespace tessera::codegen::gpu
