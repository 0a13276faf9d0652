// codegen/gpu/lower/global/VectorAccess.h - elements of a lane as words of an
// instruction.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Loads and stores move 1 to 16 bytes of a lane as 1, 2 or 4 words of 8 to 64
// bits (PTX ISA, "ld", "st"). Elements below 32 bits are packed, the first in
// the lowest bits.
#pragma once

#include "codegen/gpu/lower/Emitter.h"

namespace tessera::codegen::gpu {

/// How one instruction moves neighbouring elements.
struct VectorAccess {
  int64_t elements; // a lane's at once
  int64_t words;    // 1, 2 or 4
  int64_t wordBits; // 8, 16, 32 or 64
  int64_t bytes() const { return words * wordBits / 8; }
  int64_t perWord() const { return elements / words; }
  /// ".v4.b32"
  std::string suffix() const;
};

/// For elements of `bytes` bytes of which `run` stand side by side, aligned to
/// the whole run; at most 16 bytes.
VectorAccess accessFor(int64_t bytes, int64_t run);

/// What the attribute kVectorAttr of `op` allows for a tensor whose registers
/// are `sources` (Emitter::registerSources); 1 without it.
int64_t vectorOf(mlir::Operation *op, llvm::ArrayRef<int64_t> sources);

/// Of a word in a register: the element's own type from 32 bits on (pointers
/// as i64), integers below; bytes as i16, for PTX has no 8-bit registers.
llvm::Type *wordType(Emitter &e, llvm::Type *element,
                     const VectorAccess &access);
/// The letter of wordType() in the constraints of inline PTX.
char constraintOf(llvm::Type *word);
/// `elements` (of Emitter::typeOf) as words, and back.
Registers packWords(Emitter &e, llvm::ArrayRef<llvm::Value *> elements,
                    const VectorAccess &access);
Registers unpackWords(Emitter &e, llvm::ArrayRef<llvm::Value *> words,
                      llvm::Type *element, const VectorAccess &access);

/// "{$2, $3}", or "$2" for one word.
std::string wordOperands(int64_t first, int64_t words);
/// The values that inline PTX gives: members of a struct when several.
Registers results(Emitter &e, llvm::Value *call, int64_t count);
/// `a` and `b`; null is true.
llvm::Value *both(Emitter &e, llvm::Value *a, llvm::Value *b);

} // namespace tessera::codegen::gpu
