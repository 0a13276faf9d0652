// codegen/gpu/lower/shared/ScratchArray.cpp - arrays in the scratch of an op.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/lower/shared/ScratchArray.h"

using namespace mlir;
using tessera::layout::Dim;
using tessera::layout::LinearLayout;
using tessera::layout::Word;

namespace tessera::codegen::gpu {

ThreadWord::ThreadWord(Emitter &e, const LinearLayout &map)
    : part(e.threadPart(map)) {
  for (Dim dim : {Dim::Lane, Dim::Warp})
    for (Word column : map.columns(dim))
      bits |= column;
}

ScratchArray::ScratchArray(Emitter &e, int64_t offset, Type element)
    : e(&e), offset(offset), bytes(bytesInMemory(element)),
      type(e.typeOf(element)) {}

llvm::Value *ScratchArray::address(llvm::Value *word) {
  return e->b.CreateGEP(e->b.getIntNTy(unsigned(bytes) * 8), e->shared(offset),
                        word);
}

llvm::Value *ScratchArray::address(const ThreadWord &thread, Word constant) {
  if (!thread.bits)
    return e->shared(offset + int64_t(constant) * bytes);
  if (thread.bits & constant)
    return address(e->b.CreateXor(thread.part, e->i32(int64_t(constant))));
  if (lastPart != thread.part || lastBlock != e->b.GetInsertBlock()) {
    lastBase = address(thread.part);
    lastPart = thread.part;
    lastBlock = e->b.GetInsertBlock();
  }
  return constant ? e->b.CreateConstInBoundsGEP1_32(
                        e->b.getInt8Ty(), lastBase,
                        unsigned(int64_t(constant) * bytes))
                  : lastBase;
}

void ScratchArray::store(llvm::Value *address, llvm::Value *value) {
  if (type->isIntegerTy(1))
    value = e->b.CreateZExt(value, e->b.getInt8Ty());
  e->b.CreateAlignedStore(value, address, llvm::Align(uint64_t(bytes)));
}

llvm::Value *ScratchArray::load(llvm::Value *address) {
  bool isBit = type->isIntegerTy(1);
  llvm::Value *value = e->b.CreateAlignedLoad(
      isBit ? e->b.getInt8Ty() : type, address, llvm::Align(uint64_t(bytes)));
  return isBit ? e->b.CreateICmpNE(value, e->b.getInt8(0)) : value;
}

int64_t scratchArrayBytes(TypeRange elements, int64_t count,
                          llvm::SmallVector<int64_t> *offsets) {
  int64_t end = 0;
  for (Type element : elements) {
    if (offsets)
      offsets->push_back(end);
    end += (count * bytesInMemory(element) + 15) / 16 * 16;
  }
  return end;
}

llvm::SmallVector<ScratchArray>
scratchArrays(Emitter &e, Operation *op, TypeRange elements, int64_t count) {
  llvm::SmallVector<int64_t> offsets;
  scratchArrayBytes(elements, count, &offsets);
  llvm::SmallVector<ScratchArray> arrays;
  for (auto [offset, element] : llvm::zip(offsets, elements))
    arrays.emplace_back(e, e.scratchOffset(op) + offset, element);
  return arrays;
}

void storeTile(Emitter &e, ScratchArray &array, const LinearLayout &layout,
               const Registers &values) {
  e.onlyIf(e.isFirstReplica(layout), [&] {
    ThreadWord thread(e, layout);
    for (auto [index, source] : llvm::enumerate(e.registerSources(layout)))
      if (int64_t(index) == source)
        array.store(array.address(
                        thread, layout.apply(Word(index)
                                             << layout.inStart(Dim::Register))),
                    values[index]);
  });
}

llvm::Value *joinWord(Emitter &e, const LinearLayout &layout, int axis,
                      llvm::Value *along, llvm::Value *row) {
  const layout::Extent &out = layout.outs()[size_t(axis)];
  int start = layout.outStart(out.dim);
  int64_t low = (int64_t(1) << start) - 1;
  llvm::Value *word = e.b.CreateOr(e.b.CreateAnd(row, e.i32(low)),
                                   e.b.CreateShl(along, e.i32(start)));
  if (start + out.bits == layout.outBits())
    return word;
  return e.b.CreateOr(word, e.b.CreateShl(e.b.CreateLShr(row, e.i32(start)),
                                          e.i32(start + out.bits)));
}

Registers
forRange(Emitter &e, llvm::Value *begin, llvm::Value *end,
         const Registers &start,
         llvm::function_ref<Registers(llvm::Value *, const Registers &)> body) {
  auto &context = e.b.getContext();
  auto block = [&] {
    return llvm::BasicBlock::Create(context, "", e.function);
  };
  auto *before = e.b.GetInsertBlock(), *header = block(), *inside = block(),
       *after = block();
  e.b.CreateBr(header);
  e.b.SetInsertPoint(header);
  auto *counter = e.b.CreatePHI(e.b.getInt32Ty(), 2);
  counter->addIncoming(begin, before);
  Registers carried;
  for (llvm::Value *value : start) {
    auto *phi = e.b.CreatePHI(value->getType(), 2);
    phi->addIncoming(value, before);
    carried.push_back(phi);
  }
  e.b.CreateCondBr(e.b.CreateICmpSLT(counter, end), inside, after);
  e.b.SetInsertPoint(inside);
  Registers next = body(counter, carried);
  llvm::Value *increased = e.b.CreateNSWAdd(counter, e.i32(1));
  auto *last = e.b.GetInsertBlock();
  e.b.CreateBr(header);
  counter->addIncoming(increased, last);
  for (auto [phi, value] : llvm::zip(carried, next))
    llvm::cast<llvm::PHINode>(phi)->addIncoming(value, last);
  e.b.SetInsertPoint(after);
  return carried;
}

} // namespace tessera::codegen::gpu
