// codegen/gpu/emit/ExactLoads.h - no load wider than what the kernel reads.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace llvm {
class FunctionPass;
} // namespace llvm

namespace tessera::codegen::gpu {

/// LLVM's load-store vectorizer joins three neighbouring loads to a masked load
/// of four, and fills gaps between loads likewise; in PTX that is a load of all
/// four, behind the end of a tensor of three. This pass, to be run after it,
/// makes a masked load the loads of what its mask has.
llvm::FunctionPass *createExactLoadsPass();

} // namespace tessera::codegen::gpu
