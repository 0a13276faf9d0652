// codegen/gpu/pipeline/Pipeline.h - copies operands of dots ahead of their use.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A loop that loads an operand of a dot waits for memory in each iteration.
// tessera-pipeline-loops copies the tile of a later iteration to shared memory
// with cp.async while the current iteration computes:
//
//     for i:                              copy(0)
//       k = load p(i) mask m(i)           for i:
//       .. dot convert_layout(k) ..         wait; barrier
//                                           copy(i + 1)  // not in the last
//                                                        // iteration
//                                           k = smem_load buffer(i % 2)
//                                           .. dot k ..
//
// Two or three stages have two buffers and copy one iteration ahead; n > 3
// stages have n - 1 buffers and copy n - 2 iterations ahead. A loop with two
// stages that needs too much shared memory is split (splitLoads()); its tiles
// then may have one buffer. A branch skips copies past the last iteration. If
// addresses depend on loop-carried values, false masks disable these copies
// instead.
//
// The pass clones the operations that compute the address, with the
// loop-carried values of the later iteration. A cloned operation may be a load,
// such as a block's number from an index tensor. It may also be under an `if`:
// the condition then becomes part of the mask.
#pragma once

#include "codegen/analysis/PointerOrigins.h"
#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SetVector.h"

#include <optional>

namespace tessera::codegen::gpu {

/// A load whose tile is copied to shared memory.
struct StagedLoad {
  tile::LoadOp load;
  int64_t vector = 1;      // elements of one cp.async
  tile::SharedAttr layout; // chosen by operandLayout() for few bank conflicts
};

/// True if the loop contains an operation that no later load may move above: a
/// barrier of the kernel's author, or an access that acquires
/// (codegen/analysis/MemoryModel.h). Loads of later iterations count as later.
bool keepsLoadsBehind(mlir::scf::ForOp loop);

/// Returns the loads of `loop`, in program order, that feed dots and for which
/// copyVector() is not 0. Every operation around a load, up to the loop, must
/// be an `if`.
llvm::SmallVector<StagedLoad> stagedLoads(mlir::scf::ForOp loop);

/// Returns the number of elements of one cp.async of a load. Returns 0 if
/// cp.async cannot do the load: the load is volatile, its masked-off value is
/// not zero, a lane has less than 4 contiguous bytes, or the layout replicates
/// elements.
int64_t copyVector(tile::LoadOp load);

/// Unit attribute of the barriers that tessera-pipeline-loops inserts.
/// tessera-promote-operands uses it to tell them from barriers of the kernel's
/// author, and removes it.
inline constexpr llvm::StringLiteral kPipelineAttr = "tile.pipeline";

/// Pairs of kernel argument numbers (read, written). A pass has reordered a
/// read through the first and a write through the second.
using ArgumentPairs = llvm::SetVector<std::pair<int32_t, int32_t>>;

/// Adds every pair of an argument from which `read` derives and one from which
/// `write` derives. The two pointers must not alias
/// (PointerOrigins::mayAlias()).
void addPairs(ArgumentPairs &pairs, PointerOrigins &origins, mlir::Value read,
              mlir::Value write);

/// Adds the pairs to kDisjointAttr of the module.
void requireDisjoint(mlir::ModuleOp module, const ArgumentPairs &pairs);

/// The operations that compute the addresses and masks of loads of a loop.
struct AddressSlice {
  /// In program order. Includes operations in `if`s of the loop.
  llvm::SetVector<mlir::Operation *> operations;
  /// Numbers of the loop-carried values that `operations` need.
  llvm::SetVector<unsigned> carried;
  /// Pairs of an argument that the loads or the slice read and one that `scope`
  /// writes. Copying ahead reorders such a read and write.
  ArgumentPairs disjoint;
};

/// Returns the slice of `loads`. Returns nullopt if the slice cannot be
/// computed ahead: it contains a dot, a region or a side effect, or reads
/// memory that `scope` may write. `scope` is the loop or an operation that
/// contains it.
std::optional<AddressSlice> addressSlice(mlir::scf::ForOp loop,
                                         llvm::ArrayRef<StagedLoad> loads,
                                         mlir::Operation *scope);

/// Loads of a loop in two groups, so that a load can do with one buffer
/// instead of two.
struct SplitLoads {
  llvm::SmallVector<StagedLoad> early; // first used before `cut`
  llvm::SmallVector<StagedLoad> late;  // used only at `cut` or after it
  mlir::Operation *cut = nullptr;      // an operation of the loop's body
  // True if no early load is used at `cut` or after it: then one buffer is
  // enough for the early loads.
  bool once = false;
};

/// Returns the split at a first use of a load that has dots on both sides: of
/// several, the one whose smaller side has the most dots. In softmax(q k^T) v,
/// k is early and v is late. Returns nullopt if the body has no such operation.
std::optional<SplitLoads> splitLoads(mlir::scf::ForOp loop,
                                     llvm::ArrayRef<StagedLoad> loads);

} // namespace tessera::codegen::gpu
