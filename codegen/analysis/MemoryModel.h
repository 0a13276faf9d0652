// codegen/analysis/MemoryModel.h - what an operation does to memory, and when.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A program is one thread of control to its author and up to 1,024 threads on a
// GPU. Passes that move accesses, share memory between values or put barriers
// ask this file, and no list of their own, what an operation reads and writes:
//
//   access      which memory: global, through a pointer; shared, in a buffer
//   proxy       by which way: as the thread's own loads and stores (generic),
//               or by a unit that copies while the thread goes on (async)
//   completion  when it is done: before the thread's next operation, where a
//               dot uses it, or when an async_wait lets its group pass
//   scratch     whether the lowering may use shared memory for itself, and
//               which barriers it then has
//   order       whether threads meet at it, and whether it acquires or releases
//               what other programs write
//
// To add an operation: describe it in MemoryModel.cpp. The unit test
// MemoryModelTest fails for an operation of the tile dialect without an entry,
// and for an entry that contradicts the effects that ODS declares.
// docs/compiler/memory-model.md shows who asks what.
#pragma once

#include "dialect/tile/TileDialect.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SetVector.h"

#include <optional>

namespace tessera::codegen {

enum class MemorySpace { Global, Shared };

enum class Proxy { Generic, Async };

enum class Completion {
  InOrder, // before the next operation of the same thread
  AtDot,   // with the dot that is the only user (loadReadByDot)
  AtWait,  // when tile.async_wait lets the group of the copy pass
};

/// One access of an operation. `through` is a pointer, a tensor of pointers or
/// a value of type !tile.smem; null: memory that is not known.
struct MemoryAccess {
  MemorySpace space;
  mlir::Value through;
  bool reads = false, writes = false;
  Proxy proxy = Proxy::Generic;
  Completion completion = Completion::InOrder;
  bool atomic = false;
  /// Of an atomic whose old element has no use and whose results do not depend
  /// on its order among atomics of the same kind (sums of floats: up to
  /// rounding).
  std::optional<tile::AtomicKind> accumulates = std::nullopt;

  /// Of one address; thread 0 alone writes there.
  bool isScalar() const {
    return through && !mlir::isa<mlir::RankedTensorType>(through.getType());
  }
  /// Whether this access and `other` leave the same in memory in either order.
  bool commutesWith(const MemoryAccess &other) const;
};

/// How a lowering uses scratch, where its layouts need some: it waits for all
/// threads of the block before it first writes there, and between writing and
/// reading for all whose elements it reads; it does not wait after its last
/// read.
enum class ScratchUse {
  None,
  Waits,        // always has a `tile.barrier scratch` before it
  MayOmitFirst, // where none is needed it has none; the second is the block's
};

/// The asynchronous copies that an operation orders.
enum class AsyncRole { None, Commits, Waits };

struct MemoryBehavior {
  llvm::SmallVector<MemoryAccess, 2> accesses;
  ScratchUse scratch = ScratchUse::None;
  AsyncRole async = AsyncRole::None;
  /// All threads of the block arrive before any goes on.
  bool isBarrier = false;
  /// It tells other programs what this one did before it: all earlier accesses
  /// of all threads are done before.
  bool releases = false;
  /// It tells this program what others did: an atomic that acquires, if its old
  /// element is used, and a volatile load. No later load may be done before it;
  /// after an atomic, no later access of any thread.
  bool acquires = false;
  /// It writes where no other operation reads: the program's log.
  bool writesLog = false;

  /// The access of global or shared memory. No operation has two of global
  /// memory; of a dot's two reads of shared memory it is the first.
  std::optional<MemoryAccess> accessOf(MemorySpace space) const;
  /// Whether it writes anywhere but to its scratch.
  bool writes() const;
};

/// The behavior of `op` itself. What operations in its regions do is theirs:
/// loops and branches have none of their own. An operation of another dialect
/// says it by DescribesMemory, or has no effects by its MLIR interface, or may
/// read and write all memory.
MemoryBehavior memoryBehaviorOf(mlir::Operation *op);

/// Whether `op` has an entry of its own in MemoryModel.cpp.
bool hasMemoryEntry(mlir::Operation *op);

/// The access by which `op` writes global memory, if it does.
std::optional<MemoryAccess> globalWriteOf(mlir::Operation *op);

/// The operations whose tokens `tokens` may be, through branches and loops;
/// null stands for one that is not known, tile.async_done is left out.
llvm::SetVector<mlir::Operation *> tokenSources(mlir::ValueRange tokens);

/// The copies that are done behind `wait`.
llvm::SetVector<mlir::Operation *> awaitedCopies(tile::AsyncWaitOp wait);

/// The load of a dot's operand that the dot itself does, slice by slice between
/// its instructions: `operand` is a tile.smem_load, nobody else uses it, and
/// between the two stands no region, nothing that writes memory and nothing
/// that waits. Null when `operand` is none.
tile::SmemLoadOp loadReadByDot(mlir::Value operand);

} // namespace tessera::codegen

#include "codegen/analysis/DescribesMemory.h.inc"
