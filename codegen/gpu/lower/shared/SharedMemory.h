// codegen/gpu/lower/shared/SharedMemory.h - a warp's accesses of shared memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Executes layout::SharedAccess. Elements are integers of their width in memory
// here (Bits), so that any of them can share a 32-bit word.
#pragma once

#include "codegen/gpu/lower/Emitter.h"
#include "dialect/layout/SharedAccess.h"

#include <map>

namespace tessera::codegen::gpu {

/// Elements as integers of their bytes in memory: i1 as i8, a pointer as i64.
class Bits {
public:
  Bits(Emitter &e, mlir::Type element)
      : e(e), own(e.typeOf(element)),
        memory(e.b.getIntNTy(unsigned(8 * bytesInMemory(element)))) {}

  int width() const { return int(memory->getIntegerBitWidth()); }
  llvm::Type *type() const { return memory; }
  llvm::Value *from(llvm::Value *value);
  llvm::Value *to(llvm::Value *bits);
  Registers from(const Registers &values);
  Registers to(const Registers &bits);

private:
  Emitter &e;
  llvm::Type *own;
  llvm::IntegerType *memory;
};

/// Integers of one width in a 32-bit word, the first in its lowest bits, and
/// back. 32 / width of them; a single one of 32 bits is the word.
llvm::Value *packWord(Emitter &e, llvm::ArrayRef<llvm::Value *> parts);
Registers unpackWord(Emitter &e, llvm::Value *word, int width);

/// Bit i of `index` at place bits[i].
int64_t spreadBits(int64_t index, llvm::ArrayRef<int> bits);

/// The sum of `columns` whose bit is set in an i32.
llvm::Value *linearPart(Emitter &e, llvm::ArrayRef<layout::Word> columns,
                        llvm::Value *index);

/// What a number known at run time, a loop's counter, adds (XORs) to offsets: a
/// column for each of its bits, in elements. No index: nothing.
struct DynamicPart {
  llvm::Value *index = nullptr;
  llvm::SmallVector<layout::Word> columns;
};

/// The places that a map (register, lane, warp) -> offset names for this
/// thread.
class SharedAddresses {
public:
  /// `base`: ptr addrspace(3) of offset 0; offsets count `unit` bytes.
  SharedAddresses(Emitter &e, const layout::LinearLayout &map, int64_t unit,
                  llvm::Value *base, const DynamicPart &dynamic = {});
  /// Of a register number.
  llvm::Value *at(int64_t index);

private:
  Emitter &e;
  const layout::LinearLayout &map;
  int64_t unit;
  llvm::Value *base, *part;
  /// Bits of byte offsets that lanes and warps change.
  layout::Word threads = 0;
  std::map<layout::Word, llvm::Value *> pointers;
};

/// Stores the registers of iteration `iteration` (0 where there is one) at
/// `base`.
void storeShared(Emitter &e, const layout::SharedAccess &access,
                 llvm::ArrayRef<llvm::Value *> bits, int64_t iteration,
                 llvm::Value *base);
/// Loads of the registers of an iteration, one instruction at a time.
class SharedLoad {
public:
  /// `access` must outlive this.
  SharedLoad(Emitter &e, const layout::SharedAccess &access, int64_t iteration,
             llvm::Value *base, const DynamicPart &dynamic = {});

  /// The instruction that loads a register.
  int64_t instructionOf(int64_t index) const;
  /// Fills in the registers of an instruction.
  void emit(int64_t instruction, llvm::MutableArrayRef<llvm::Value *> bits);

private:
  void emitMatrices(int64_t first, llvm::MutableArrayRef<llvm::Value *> bits);

  Emitter &e;
  const layout::SharedAccess &access;
  int64_t inIteration;
  SharedAddresses places;
};

/// All of them.
void loadShared(Emitter &e, const layout::SharedAccess &access,
                llvm::MutableArrayRef<llvm::Value *> bits, int64_t iteration,
                llvm::Value *base, const DynamicPart &dynamic = {});

} // namespace tessera::codegen::gpu
