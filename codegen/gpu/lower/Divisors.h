// codegen/gpu/lower/Divisors.h - copies of divisors, from which LLVM draws no
// conclusions. The Emitter makes them for integer divisions.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "llvm/ADT/SmallVector.h"

namespace llvm {
class CallInst;
class DataLayout;
class Value;
} // namespace llvm

namespace tessera::codegen::gpu {

class Emitter;

/// LLVM concludes from a division that its divisor is not zero, and folds later
/// tests of the divisor. PTX does not, and authors do not expect it
/// (docs/numerics.md). So a division gets a copy of its divisor that is opaque
/// to LLVM: the conclusion is limited to the copy. A division by zero remains
/// one: the simulator reports it if its result is used.
///
///     %q = sdiv %a, %b                 %c = mov.b32 %b     (opaque)
///     %t = icmp ne %b, 0     ->        %q = sdiv %a, %c
///     (folded to true)                 %t = icmp ne %b, 0  (kept)
class Divisors {
public:
  /// Returns an opaque copy of `divisor`, an integer, or the divisor itself if
  /// it is a constant other than zero.
  llvm::Value *copyOf(Emitter &e, llvm::Value *divisor);
  /// Removes the copies of divisors that are never zero, and tells LLVM which
  /// of the others are not negative. To be called when the function is
  /// complete: a phi of an unfinished loop has no values yet, and LLVM takes it
  /// for a number that is never zero.
  void finish(const llvm::DataLayout &layout);

private:
  struct Copy {
    llvm::Value *divisor;
    llvm::CallInst *call;
    llvm::Value *result; // the call, narrowed to the divisor's type
  };
  llvm::SmallVector<Copy> copies;
};

} // namespace tessera::codegen::gpu
