// codegen/gpu/lower/shared/ScratchArray.h - elements in shared memory by flat
// words.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/gpu/lower/Emitter.h"

namespace tessera::codegen::gpu {

/// What lane and warp add to a word.
struct ThreadWord {
  ThreadWord() = default;
  ThreadWord(Emitter &e, const layout::LinearLayout &map);

  llvm::Value *part = nullptr;
  layout::Word bits = 0; // those that may be set in it
};

class ScratchArray {
public:
  /// `offset` in bytes from the block's first.
  ScratchArray(Emitter &e, int64_t offset, mlir::Type element);

  llvm::Value *address(llvm::Value *word);
  /// The element at thread ^ constant.
  llvm::Value *address(const ThreadWord &thread, layout::Word constant);
  void store(llvm::Value *address, llvm::Value *value);
  llvm::Value *load(llvm::Value *address);

private:
  Emitter *e;
  int64_t offset, bytes;
  llvm::Type *type;
  // The address of the last thread part that was asked for: the constants are
  // offsets of the instructions then.
  llvm::Value *lastPart = nullptr, *lastBase = nullptr;
  llvm::BasicBlock *lastBlock = nullptr;
};

/// Bytes of arrays of `count` elements of each type, one after the other, each
/// aligned to 16 bytes; `offsets` of each from the first.
int64_t scratchArrayBytes(mlir::TypeRange elements, int64_t count,
                          llvm::SmallVector<int64_t> *offsets = nullptr);

/// One array a type at the scratch of `op`.
llvm::SmallVector<ScratchArray> scratchArrays(Emitter &e, mlir::Operation *op,
                                              mlir::TypeRange elements,
                                              int64_t count);

/// Every element once, at the flat word that `layout` gives it.
void storeTile(Emitter &e, ScratchArray &array,
               const layout::LinearLayout &layout, const Registers &values);

/// The flat word of layout's outs with coordinate `along` of `axis` and the
/// others as in `row` (AxisPlan.h), all i32.
llvm::Value *joinWord(Emitter &e, const layout::LinearLayout &layout, int axis,
                      llvm::Value *along, llvm::Value *row);

/// A loop from `begin` to before `end` (i32) over `body(counter, carried)`.
Registers
forRange(Emitter &e, llvm::Value *begin, llvm::Value *end,
         const Registers &start,
         llvm::function_ref<Registers(llvm::Value *, const Registers &)> body);

} // namespace tessera::codegen::gpu
