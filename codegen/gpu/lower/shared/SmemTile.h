// codegen/gpu/lower/shared/SmemTile.h - a tile in shared memory, read when it
// is used.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// The operand of a dot is read slice by slice along K between the tensor-core
// instructions that use it (loadReadByDot, codegen/analysis/MemoryModel.h):
// whole operands do not fit in registers.
#pragma once

#include "codegen/analysis/MemoryModel.h"
#include "codegen/gpu/lower/Emitter.h"
#include "codegen/gpu/lower/shared/SharedMemory.h"

namespace tessera::codegen::gpu {

class SmemTile {
public:
  SmemTile(Emitter &e, tile::SmemLoadOp op);

  /// Returns register `index` of the result. The first request for a register
  /// of an instruction emits the instruction.
  llvm::Value *at(int64_t index);
  Registers all();

private:
  Emitter &e;
  llvm::SmallVector<int64_t> numbers; // result register -> distinct register
  layout::SharedAccess access;
  Bits bits;
  std::optional<SharedLoad> load;
  llvm::SmallVector<llvm::Value *> loaded;
  Registers values;
};

} // namespace tessera::codegen::gpu
