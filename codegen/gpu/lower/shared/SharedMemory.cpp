// codegen/gpu/lower/shared/SharedMemory.cpp - emits accesses of shared memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/lower/shared/SharedMemory.h"

#include "llvm/IR/IntrinsicsNVPTX.h"

#include <cassert>

using tessera::layout::AccessKind;
using tessera::layout::Dim;
using tessera::layout::LinearLayout;
using tessera::layout::SharedAccess;
using tessera::layout::Word;

namespace tessera::codegen::gpu {

// --- Elements as integers ----------------------------------------------------

llvm::Value *Bits::from(llvm::Value *value) {
  if (own->isPointerTy())
    return e.b.CreatePtrToInt(value, memory);
  if (own->isIntegerTy())
    return e.b.CreateZExt(value, memory);
  return e.b.CreateBitCast(value, memory);
}

llvm::Value *Bits::to(llvm::Value *bits) {
  if (own->isPointerTy())
    return e.b.CreateIntToPtr(bits, own);
  if (own->isIntegerTy())
    return e.b.CreateTrunc(bits, own);
  return e.b.CreateBitCast(bits, own);
}

Registers Bits::from(const Registers &values) {
  return llvm::map_to_vector<0>(
      values, [&](llvm::Value *value) { return from(value); });
}

Registers Bits::to(const Registers &bits) {
  return llvm::map_to_vector<0>(bits,
                                [&](llvm::Value *value) { return to(value); });
}

llvm::Value *packWord(Emitter &e, llvm::ArrayRef<llvm::Value *> parts) {
  assert(!parts.empty() && "a word of no parts");
  if (parts.size() == 1)
    return parts[0];
  llvm::Value *vector = llvm::PoisonValue::get(
      llvm::FixedVectorType::get(parts[0]->getType(), unsigned(parts.size())));
  for (size_t i = 0; i < parts.size(); ++i)
    vector = e.b.CreateInsertElement(vector, parts[i], i);
  return e.b.CreateBitCast(vector, e.b.getInt32Ty());
}

Registers unpackWord(Emitter &e, llvm::Value *word, int width) {
  assert(width > 0 && 32 % width == 0 && "parts fill a word of 32 bits");
  if (width == 32)
    return {word};
  int count = 32 / width;
  llvm::Value *vector = e.b.CreateBitCast(
      word, llvm::FixedVectorType::get(e.b.getIntNTy(unsigned(width)),
                                       unsigned(count)));
  Registers parts;
  for (int i = 0; i < count; ++i)
    parts.push_back(e.b.CreateExtractElement(vector, uint64_t(i)));
  return parts;
}

int64_t spreadBits(int64_t index, llvm::ArrayRef<int> bits) {
  assert(index >= 0 && index >> bits.size() == 0 &&
         "the index has more bits than there are places for");
  int64_t result = 0;
  for (size_t i = 0; i < bits.size(); ++i)
    result |= (index >> i & 1) << bits[i];
  return result;
}

// --- Addresses ---------------------------------------------------------------

llvm::Value *linearPart(Emitter &e, llvm::ArrayRef<Word> columns,
                        llvm::Value *index) {
  llvm::Value *sum = e.i32(0);
  for (auto [bit, column] : llvm::enumerate(columns)) {
    if (!column)
      continue;
    llvm::Value *part = e.b.CreateAnd(index, e.i32(int64_t(1) << bit));
    if (llvm::isPowerOf2_64(column)) {
      int shift = int(llvm::Log2_64(column)) - int(bit);
      part = shift >= 0 ? e.b.CreateShl(part, e.i32(shift))
                        : e.b.CreateLShr(part, e.i32(-shift));
    } else {
      part = e.b.CreateSelect(e.b.CreateICmpNE(part, e.i32(0)),
                              e.i32(int64_t(column)), e.i32(0));
    }
    sum = e.b.CreateXor(sum, part);
  }
  return sum;
}

SharedAddresses::SharedAddresses(Emitter &e, const LinearLayout &map,
                                 int64_t unit, llvm::Value *base,
                                 const DynamicPart &dynamic)
    : e(e), map(map), unit(unit), base(base) {
  std::vector<Word> columns;
  for (Word column : map.columns())
    columns.push_back(column * Word(unit));
  for (Dim dim : {Dim::Lane, Dim::Warp})
    for (Word column : map.columns(dim))
      threads |= column * Word(unit);
  part = e.threadPart(
      LinearLayout(map.ins(), {{Dim::Offset, map.outBits() + 5}}, columns));
  if (!dynamic.index)
    return;
  llvm::SmallVector<Word> moved;
  for (Word column : dynamic.columns) {
    moved.push_back(column * Word(unit));
    threads |= moved.back();
  }
  part = e.b.CreateXor(part, linearPart(e, moved, dynamic.index));
}

llvm::Value *SharedAddresses::at(int64_t index) {
  Word place =
      map.apply(Word(index) << map.inStart(Dim::Register)) * Word(unit);
  // Bits that lane and warp may set too are XORed, once for all registers that
  // agree in them. The other bits are a constant offset of the instruction.
  llvm::Value *&pointer = pointers[place & threads];
  if (!pointer) {
    llvm::Value *own = e.b.CreateXor(part, e.i32(int64_t(place & threads)));
    pointer = e.b.CreateInBoundsGEP(e.b.getInt8Ty(), base, own);
  }
  return e.b.CreateConstInBoundsGEP1_32(e.b.getInt8Ty(), pointer,
                                        unsigned(place & ~threads));
}

// --- Accesses ----------------------------------------------------------------

// Returns the type of one access: an integer up to 32 bits, then a vector of
// 32-bit words, or one or two i64 for elements of 64 bits.
static llvm::Type *accessType(Emitter &e, const SharedAccess &access) {
  int bits = access.elementBits << access.vectorBits.size();
  if (bits <= 32)
    return e.b.getIntNTy(unsigned(bits));
  if (access.elementBits == 64)
    return access.vectorBits.empty()
               ? e.b.getInt64Ty()
               : static_cast<llvm::Type *>(
                     llvm::FixedVectorType::get(e.b.getInt64Ty(), 2));
  return llvm::FixedVectorType::get(e.b.getInt32Ty(), unsigned(bits / 32));
}

// Packs the elements of one instruction into a value of accessType().
static llvm::Value *join(Emitter &e, const SharedAccess &access,
                         llvm::ArrayRef<llvm::Value *> parts) {
  llvm::Type *type = accessType(e, access);
  if (parts.size() == 1)
    return parts[0];
  auto *vectorType =
      llvm::FixedVectorType::get(parts[0]->getType(), unsigned(parts.size()));
  if (!type->isVectorTy()) {
    llvm::Value *vector = llvm::PoisonValue::get(vectorType);
    for (size_t i = 0; i < parts.size(); ++i)
      vector = e.b.CreateInsertElement(vector, parts[i], i);
    return e.b.CreateBitCast(vector, type);
  }
  size_t each = access.elementBits == 64 ? 1 : size_t(32 / access.elementBits);
  llvm::Value *vector = llvm::PoisonValue::get(type);
  for (size_t i = 0; i < parts.size() / each; ++i)
    vector = e.b.CreateInsertElement(
        vector, packWord(e, parts.slice(i * each, each)), i);
  return vector;
}

static Registers split(Emitter &e, const SharedAccess &access,
                       llvm::Value *value) {
  llvm::Type *type = value->getType();
  size_t count = size_t(1) << access.vectorBits.size();
  if (count == 1)
    return {value};
  Registers parts;
  if (type->getScalarType()->isFloatTy()) {
    for (size_t i = 0; i < count; ++i)
      parts.push_back(e.b.CreateBitCast(e.b.CreateExtractElement(value, i),
                                        e.b.getInt32Ty()));
    return parts;
  }
  if (!type->isVectorTy()) {
    auto *vectorType = llvm::FixedVectorType::get(
        e.b.getIntNTy(unsigned(access.elementBits)), unsigned(count));
    value = e.b.CreateBitCast(value, vectorType);
    for (size_t i = 0; i < count; ++i)
      parts.push_back(e.b.CreateExtractElement(value, i));
    return parts;
  }
  unsigned words = llvm::cast<llvm::FixedVectorType>(type)->getNumElements();
  for (unsigned i = 0; i < words; ++i) {
    llvm::Value *word = e.b.CreateExtractElement(value, uint64_t(i));
    if (access.elementBits == 64)
      parts.push_back(word);
    else
      llvm::append_range(parts, unpackWord(e, word, access.elementBits));
  }
  return parts;
}

static llvm::Align alignmentOf(const SharedAccess &access) {
  return llvm::Align(
      uint64_t((access.elementBits << access.vectorBits.size()) / 8));
}

void storeShared(Emitter &e, const SharedAccess &access,
                 llvm::ArrayRef<llvm::Value *> bits, int64_t iteration,
                 llvm::Value *base) {
  SharedAddresses places(e, access.address, access.elementBits / 8, base);
  int64_t inIteration = spreadBits(iteration, access.iterationBits);
  for (int64_t i = 0; i < access.instructions(); ++i) {
    int64_t first = spreadBits(i, access.repeatBits);
    Registers parts;
    for (int64_t v = 0; v < int64_t(1) << access.vectorBits.size(); ++v)
      parts.push_back(
          bits[size_t(first | spreadBits(v, access.vectorBits) | inIteration)]);
    e.b.CreateAlignedStore(join(e, access, parts), places.at(first),
                           alignmentOf(access));
  }
}

SharedLoad::SharedLoad(Emitter &e, const SharedAccess &access,
                       int64_t iteration, llvm::Value *base,
                       const DynamicPart &dynamic)
    : e(e), access(access),
      inIteration(spreadBits(iteration, access.iterationBits)),
      places(e, access.address, access.elementBits / 8, base, dynamic) {}

int64_t SharedLoad::instructionOf(int64_t index) const {
  int64_t repeat = 0;
  for (auto [i, bit] : llvm::enumerate(access.repeatBits))
    repeat |= (index >> bit & 1) << i;
  return repeat / access.matrices;
}

void SharedLoad::emit(int64_t instruction,
                      llvm::MutableArrayRef<llvm::Value *> bits) {
  int64_t first = spreadBits(instruction * access.matrices, access.repeatBits);
  if (access.kind != AccessKind::Vector)
    return emitMatrices(first, bits);
  // Loads vectors of 32-bit elements as floats, which most of them are. LLVM
  // negates a float that was loaded as an integer by a separate instruction.
  llvm::Type *type = accessType(e, access);
  if (access.elementBits == 32 && type->isVectorTy())
    type = llvm::FixedVectorType::get(
        e.b.getFloatTy(),
        llvm::cast<llvm::FixedVectorType>(type)->getNumElements());
  Registers parts =
      split(e, access,
            e.b.CreateAlignedLoad(type, places.at(first), alignmentOf(access)));
  for (auto [v, part] : llvm::enumerate(parts))
    bits[size_t(first | spreadBits(int64_t(v), access.vectorBits) |
                inIteration)] = part;
}

void SharedLoad::emitMatrices(int64_t first,
                              llvm::MutableArrayRef<llvm::Value *> bits) {
  using namespace llvm::Intrinsic;
  static constexpr llvm::Intrinsic::ID ids[2][3] = {
      {nvvm_ldmatrix_sync_aligned_m8n8_x1_b16,
       nvvm_ldmatrix_sync_aligned_m8n8_x2_b16,
       nvvm_ldmatrix_sync_aligned_m8n8_x4_b16},
      {nvvm_ldmatrix_sync_aligned_m8n8_x1_trans_b16,
       nvvm_ldmatrix_sync_aligned_m8n8_x2_trans_b16,
       nvvm_ldmatrix_sync_aligned_m8n8_x4_trans_b16}};
  llvm::Intrinsic::ID id = ids[access.kind == AccessKind::LdmatrixTrans]
                              [llvm::Log2_32(uint32_t(access.matrices))];
  llvm::Value *pointer = places.at(first);
  llvm::Value *words = e.intrinsic(id, {pointer}, {pointer->getType()});
  for (int m = 0; m < access.matrices; ++m) {
    llvm::Value *word = access.matrices == 1
                            ? words
                            : e.b.CreateExtractValue(words, unsigned(m));
    Registers parts = unpackWord(e, word, access.elementBits);
    for (auto [v, part] : llvm::enumerate(parts))
      bits[size_t(first | spreadBits(m, access.repeatBits) |
                  spreadBits(int64_t(v), access.vectorBits) | inIteration)] =
          part;
  }
}

void loadShared(Emitter &e, const SharedAccess &access,
                llvm::MutableArrayRef<llvm::Value *> bits, int64_t iteration,
                llvm::Value *base, const DynamicPart &dynamic) {
  SharedLoad load(e, access, iteration, base, dynamic);
  for (int64_t i = 0; i < access.instructions(); ++i)
    load.emit(i, bits);
}

} // namespace tessera::codegen::gpu
