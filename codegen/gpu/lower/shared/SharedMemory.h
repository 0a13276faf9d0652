// codegen/gpu/lower/shared/SharedMemory.h - emits accesses of shared memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Emits the instructions of a layout::SharedAccess. Elements are integers of
// their width in memory here (Bits), so that several can share a 32-bit word.
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

/// Packs 32 / width integers of one width into a 32-bit word, the first in the
/// lowest bits, and unpacks them. A single 32-bit integer is the word itself.
llvm::Value *packWord(Emitter &e, llvm::ArrayRef<llvm::Value *> parts);
Registers unpackWord(Emitter &e, llvm::Value *word, int width);

/// Returns a number whose bit bits[i] is bit i of `index`.
int64_t spreadBits(int64_t index, llvm::ArrayRef<int> bits);

/// Emits the XOR of the `columns` whose bit is set in the i32 `index`.
llvm::Value *linearPart(Emitter &e, llvm::ArrayRef<layout::Word> columns,
                        llvm::Value *index);

/// The contribution of a run-time value, such as an induction variable, to
/// offsets: for each set bit of `index`, a column in elements is XORed to the
/// offset. Null means no contribution.
struct DynamicPart {
  llvm::Value *index = nullptr;
  llvm::SmallVector<layout::Word> columns;
};

/// The addresses of this thread in a map (register, lane, warp) -> offset.
class SharedAddresses {
public:
  /// `base` is the ptr addrspace(3) of offset 0. Offsets count `unit` bytes.
  SharedAddresses(Emitter &e, const layout::LinearLayout &map, int64_t unit,
                  llvm::Value *base, const DynamicPart &dynamic = {});
  /// Returns the address of register `index`.
  llvm::Value *at(int64_t index);

private:
  Emitter &e;
  const layout::LinearLayout &map;
  int64_t unit;
  llvm::Value *base, *part;
  /// The bits of byte offsets that depend on the lane or the warp.
  layout::Word threads = 0;
  std::map<layout::Word, llvm::Value *> pointers;
};

/// Stores the registers of iteration `iteration` (0 if there is only one) at
/// `base`.
void storeShared(Emitter &e, const layout::SharedAccess &access,
                 llvm::ArrayRef<llvm::Value *> bits, int64_t iteration,
                 llvm::Value *base);
/// Emits the loads of an iteration's registers, one instruction at a time.
class SharedLoad {
public:
  /// `access` must outlive this.
  SharedLoad(Emitter &e, const layout::SharedAccess &access, int64_t iteration,
             llvm::Value *base, const DynamicPart &dynamic = {});

  /// Returns the number of the instruction that loads register `index`.
  int64_t instructionOf(int64_t index) const;
  /// Emits an instruction and sets its registers in `bits`.
  void emit(int64_t instruction, llvm::MutableArrayRef<llvm::Value *> bits);

private:
  void emitMatrices(int64_t first, llvm::MutableArrayRef<llvm::Value *> bits);

  Emitter &e;
  const layout::SharedAccess &access;
  int64_t inIteration;
  SharedAddresses places;
};

/// Emits the loads of all registers of an iteration.
void loadShared(Emitter &e, const layout::SharedAccess &access,
                llvm::MutableArrayRef<llvm::Value *> bits, int64_t iteration,
                llvm::Value *base, const DynamicPart &dynamic = {});

} // namespace tessera::codegen::gpu
