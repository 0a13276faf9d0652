// codegen/gpu/memory/MemoryBarriers.h - barriers of global memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A program is one thread of control to its author, but many threads on a GPU:
// what one of them has stored another may load too early. The pass puts a
// tile.barrier before every access of global memory that may meet an earlier
// one, since the last barrier, of another thread:
//
//   - a load or store through the pointer argument of an earlier store, or a
//     store through that of an earlier load, unless both go through the same
//     pointers in the same layout without replication: then each element stays
//     with its thread (of pointers that depend on loads several may be equal,
//     so storing through them waits for loads through them);
//   - an atomic that is not relaxed, after stores; one on a single address
//     after any access: what it releases must have been done by every thread.
//
// Different arguments are taken to be different memory here, and stores of one
// statement in different iterations to write different places when their
// addresses follow from arguments and counters alone.
#pragma once

#include <memory>

namespace mlir {
class Pass;
} // namespace mlir

namespace tessera::codegen::gpu {

/// tessera-memory-barriers, for IR with layouts.
std::unique_ptr<mlir::Pass> createMemoryBarriersPass();
void registerBarrierPasses();

} // namespace tessera::codegen::gpu
