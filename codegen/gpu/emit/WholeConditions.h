// codegen/gpu/emit/WholeConditions.h - one select per compound condition.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace llvm {
class Module;
}

namespace tessera::codegen::gpu {

/// Replaces selects of 32-bit values whose condition is an `and` or `or` by
/// `selp` as inline assembly. Otherwise LLVM's instruction selection would
/// split `a and b ? x : y` into two selects. One select is cheaper, because
/// ptxas fuses the `and` into a comparison (ISETP.AND). Call it after
/// optimization.
void keepConditionsWhole(llvm::Module &module);

} // namespace tessera::codegen::gpu
