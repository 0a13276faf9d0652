// codegen/gpu/pipeline/Pipeline.h - operands of dots copied ahead of their use.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A loop that loads an operand of a dot waits for memory in each iteration. The
// pass copies the tile of a later iteration to shared memory in the background
// (cp.async) while this one computes:
//
//     for i:                              copy(0)
//       k = load p(i) mask m(i)           for i:
//       .. dot convert_layout(k) ..         wait; barrier
//                                           copy(i + 1)    // masked off at the
//                                           end k = smem_load buffer(i % 2)
//                                           .. dot k ..
//
// The address of a later iteration is computed by a copy of the operations that
// compute it, with the loop-carried values they need one copy ahead: these may
// be loads themselves (a block's number from an index tensor), and may stand
// under an `if`, whose condition becomes part of the mask.
#pragma once

#include "codegen/analysis/PointerOrigins.h"
#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SetVector.h"

#include <optional>

namespace tessera::codegen::gpu {

/// A load whose tile goes through shared memory.
struct StagedLoad {
  tile::LoadOp load;
  int64_t vector = 1;      // elements of one cp.async
  tile::SharedAttr layout; // no bank conflicts for the copy and the first use
};

/// Whether something in the loop keeps the loads after it, also those of later
/// iterations, from being done before it: a barrier of the kernel's author, or
/// an access that acquires (codegen/analysis/MemoryModel.h).
bool keepsLoadsBehind(mlir::scf::ForOp loop);

/// Loads of `loop`, in order, that feed dots and can be copied by cp.async: no
/// other value than zero where masked off, and at least 4 bytes at once.
llvm::SmallVector<StagedLoad> stagedLoads(mlir::scf::ForOp loop);

/// Elements of one cp.async of a load; 0 where it cannot be done by cp.async:
/// another value than zero where masked off, less than 4 bytes at once,
/// elements that a lane has twice.
int64_t copyVector(tile::LoadOp load);

/// On barriers that the first pass below inserts, until the second has told
/// them from those of the kernel's author.
inline constexpr llvm::StringLiteral kPipelineAttr = "tile.pipeline";

/// Numbers of an argument of the kernel that is read and of another one that
/// is written, where the order of the two accesses is not kept.
using ArgumentPairs = llvm::SetVector<std::pair<int32_t, int32_t>>;

/// Adds the arguments that `read` and `write` lead to, which do not alias
/// (PointerOrigins::mayAlias()).
void addPairs(ArgumentPairs &pairs, PointerOrigins &origins, mlir::Value read,
              mlir::Value write);

/// Adds the pairs to kDisjointAttr of the module.
void requireDisjoint(mlir::ModuleOp module, const ArgumentPairs &pairs);

/// What computes the addresses and masks of some loads of a loop.
struct AddressSlice {
  /// In program order; also inside of `if`s of the loop.
  llvm::SetVector<mlir::Operation *> operations;
  /// Numbers of the loop-carried values that they need.
  llvm::SetVector<unsigned> carried;
  /// What the loads and the slice read, and the loop writes.
  ArgumentPairs disjoint;
};

/// None when some of it cannot be computed ahead: it depends on what the loop
/// computes, or has effects, or reads what `scope`, the loop or an operation
/// that contains it, may write.
std::optional<AddressSlice> addressSlice(mlir::scf::ForOp loop,
                                         llvm::ArrayRef<StagedLoad> loads,
                                         mlir::Operation *scope);

/// Loads of a loop in two groups, for one buffer each instead of two.
struct SplitLoads {
  llvm::SmallVector<StagedLoad> early; // used first
  llvm::SmallVector<StagedLoad> late;  // used from `cut` on only
  mlir::Operation *cut = nullptr;      // of the loop's body
  bool once = false; // no early load is used at `cut` or behind it
};

/// None where the loop has no place with dots before it, dots behind it, and
/// loads that are first used there. softmax(q k^T) v: k early, v late.
std::optional<SplitLoads> splitLoads(mlir::scf::ForOp loop,
                                     llvm::ArrayRef<StagedLoad> loads);

} // namespace tessera::codegen::gpu
