// codegen/gpu/lower/shared/ScratchArray.h - arrays in the scratch of an op.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/gpu/lower/Emitter.h"

namespace tessera::codegen::gpu {

/// The contribution of lane and warp to the flat word of an element, as i32.
struct ThreadWord {
  ThreadWord() = default;
  ThreadWord(Emitter &e, const layout::LinearLayout &map);

  llvm::Value *part = nullptr;
  layout::Word bits = 0; // that may be set in `part`
};

/// An array in shared memory, indexed by the flat word of an element.
class ScratchArray {
public:
  /// `offset` counts bytes from the start of the block's shared memory.
  ScratchArray(Emitter &e, int64_t offset, mlir::Type element);

  llvm::Value *address(llvm::Value *word);
  /// Returns the address of the element at thread.part ^ constant.
  llvm::Value *address(const ThreadWord &thread, layout::Word constant);
  void store(llvm::Value *address, llvm::Value *value);
  llvm::Value *load(llvm::Value *address);

private:
  Emitter *e;
  int64_t offset, bytes;
  llvm::Type *type;
  // The address for the last thread part. Further accesses with this part use
  // constant offsets from it.
  llvm::Value *lastPart = nullptr, *lastBase = nullptr;
  llvm::BasicBlock *lastBlock = nullptr;
};

/// Returns the bytes of consecutive arrays of `count` elements of each type,
/// each aligned to 16 bytes. Appends their offsets in bytes to `offsets`.
int64_t scratchArrayBytes(mlir::TypeRange elements, int64_t count,
                          llvm::SmallVector<int64_t> *offsets = nullptr);

/// Returns an array for each type, in the scratch of `op`.
llvm::SmallVector<ScratchArray> scratchArrays(Emitter &e, mlir::Operation *op,
                                              mlir::TypeRange elements,
                                              int64_t count);

/// Stores every element once, at the flat word that `layout` maps it to.
void storeTile(Emitter &e, ScratchArray &array,
               const layout::LinearLayout &layout, const Registers &values);

/// Returns the flat word of the layout's outs with the coordinate `along` on
/// `axis` and the other coordinates of `row` (AxisPlan.h). All are i32.
llvm::Value *joinWord(Emitter &e, const layout::LinearLayout &layout, int axis,
                      llvm::Value *along, llvm::Value *row);

/// Emits a loop with an i32 counter from `begin` to `end` - 1. `body(counter,
/// carried)` returns the next carried values. Returns the last ones.
Registers
forRange(Emitter &e, llvm::Value *begin, llvm::Value *end,
         const Registers &start,
         llvm::function_ref<Registers(llvm::Value *, const Registers &)> body);

} // namespace tessera::codegen::gpu
