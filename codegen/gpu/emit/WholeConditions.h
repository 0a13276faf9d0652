// codegen/gpu/emit/WholeConditions.h - one select for a condition of several
// parts.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace llvm {
class Module;
}

namespace tessera::codegen::gpu {

/// LLVM's instruction selection makes `a and b ? x : y` a chain of two selects,
/// one for each part. Predicates are joined for nothing: ptxas makes the `and`
/// part of a comparison (ISETP.AND). Selects of 32-bit values under an `and` or
/// `or` become `selp` as inline assembly, which selection leaves alone. To be
/// run after optimization.
void keepConditionsWhole(llvm::Module &module);

} // namespace tessera::codegen::gpu
