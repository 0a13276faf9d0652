// codegen/gpu/emit/ExactLoads.h - prevents loads wider than the kernel's.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace llvm {
class FunctionPass;
} // namespace llvm

namespace tessera::codegen::gpu {

/// Creates a pass that splits masked loads into loads of the elements that the
/// mask selects. It must run after LLVM's load-store vectorizer, which joins
/// three neighbouring loads into a masked load of four and fills gaps between
/// loads. PTX would load all four elements, beyond the end of a tensor of
/// three.
llvm::FunctionPass *createExactLoadsPass();

} // namespace tessera::codegen::gpu
