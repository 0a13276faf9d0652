// codegen/analysis/MemoryModel.h - memory effects and ordering of operations.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// For its author, a program is one thread of control. On a GPU, it is up to
// 1,024 threads. Passes that move accesses, assign shared memory or insert
// barriers query this file and do not keep separate lists of operations:
//
//   access      the memory: global, through a pointer; shared, in a buffer
//   proxy       generic: loads and stores of the thread; async: a unit that
//               copies while the thread continues
//   completion  when the access is complete: before the thread's next
//               operation, at the dot that uses it, or after the async_wait
//               for its group
//   scratch     whether the lowering may use scratch in shared memory, and
//               which barriers it then emits
//   order       whether it is a barrier, and whether it acquires or releases
//               with respect to other programs
//
// To add an operation: describe it in MemoryModel.cpp. The unit test
// MemoryModelTest fails for an operation of the tile dialect without an entry,
// and for an entry that contradicts the effects that ODS declares.
// docs/compiler/memory-model.md lists the passes and their queries.
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
/// a value of type !tile.smem. It is null if the memory is unknown.
struct MemoryAccess {
  MemorySpace space;
  mlir::Value through;
  bool reads = false, writes = false;
  Proxy proxy = Proxy::Generic;
  Completion completion = Completion::InOrder;
  bool atomic = false;
  /// The kind of an atomic whose old element is unused and whose result in
  /// memory does not depend on the order of atomics of this kind (for float
  /// sums: up to rounding). nullopt otherwise.
  std::optional<tile::AtomicKind> accumulates = std::nullopt;

  /// True for an access of one address. Only thread 0 writes there.
  bool isScalar() const {
    return through && !mlir::isa<mlir::RankedTensorType>(through.getType());
  }
  /// True if this access and `other` give the same memory in either order.
  bool commutesWith(const MemoryAccess &other) const;
};

/// How a lowering uses scratch if its layouts need some. Between writing and
/// reading, each thread waits for the threads whose elements it reads. No
/// barrier comes after the last read.
enum class ScratchUse {
  None,
  Waits,        // a `tile.barrier scratch` always comes before the first write
  MayOmitFirst, // only if another thread may still access the memory
};

/// The asynchronous copies that an operation orders.
enum class AsyncRole { None, Commits, Waits };

struct MemoryBehavior {
  llvm::SmallVector<MemoryAccess, 2> accesses;
  ScratchUse scratch = ScratchUse::None;
  AsyncRole async = AsyncRole::None;
  /// True if all threads of the block arrive before any thread continues.
  bool isBarrier = false;
  /// Release semantics with respect to other programs: all earlier accesses of
  /// all threads are complete before it.
  bool releases = false;
  /// Acquire semantics with respect to other programs: an acquiring atomic
  /// whose old element is used, and a volatile load. No later load may move
  /// above it. For an atomic, this holds for all later accesses of all threads.
  bool acquires = false;
  /// True if it writes the program's log, which no operation reads.
  bool writesLog = false;

  /// Returns the access of global or shared memory. An operation has at most
  /// one access of global memory. For the two shared memory reads of a dot,
  /// returns the first.
  std::optional<MemoryAccess> accessOf(MemorySpace space) const;
  /// True if it writes memory other than its scratch.
  bool writes() const;
};

/// Returns the behavior of `op` without the operations in its regions: loops
/// and branches do not access memory. An operation of another dialect describes
/// its behavior by DescribesMemory, or has no effects by its MLIR interface;
/// otherwise it may read and write all memory.
MemoryBehavior memoryBehaviorOf(mlir::Operation *op);

/// True if MemoryModel.cpp has an entry for `op`.
bool hasMemoryEntry(mlir::Operation *op);

/// Returns the access by which `op` writes global memory; nullopt if none.
std::optional<MemoryAccess> globalWriteOf(mlir::Operation *op);

/// Returns the operations that may have created `tokens`, through branches and
/// loops. Null represents an unknown operation; tile.async_done is left out.
llvm::SetVector<mlir::Operation *> tokenSources(mlir::ValueRange tokens);

/// Returns the copies that are complete after `wait`.
llvm::SetVector<mlir::Operation *> awaitedCopies(tile::AsyncWaitOp wait);

/// Returns the load of a dot's operand if the dot can execute it, slice by
/// slice between its instructions; else null. `operand` must be a
/// tile.smem_load without other uses. Between the two, no operation may have a
/// region, write memory or wait.
tile::SmemLoadOp loadReadByDot(mlir::Value operand);

} // namespace tessera::codegen

#include "codegen/analysis/DescribesMemory.h.inc"
