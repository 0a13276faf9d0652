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
  int64_t elements; // of a lane
  int64_t words;    // 1, 2 or 4
  int64_t wordBits; // 8, 16, 32 or 64
  int64_t bytes() const { return words * wordBits / 8; }
  int64_t perWord() const { return elements / words; }
  /// Returns the type of the instruction, for example ".v4.b32".
  std::string suffix() const;
};

/// Returns the access, of at most 16 bytes, for elements of `bytes` bytes.
/// `run` elements are adjacent in memory and aligned to the size of the run.
VectorAccess accessFor(int64_t bytes, int64_t run);

/// Returns the number of elements per instruction that kVectorAttr of `op`
/// allows for a tensor with these `sources` (Emitter::registerSources); 1
/// without the attribute.
int64_t vectorOf(mlir::Operation *op, llvm::ArrayRef<int64_t> sources);

/// Returns the type of a word in a register. Elements of 32 or more bits keep
/// their type, pointers become i64. Smaller words are integers of at least 16
/// bits, because PTX does not have 8-bit registers.
llvm::Type *wordType(Emitter &e, llvm::Type *element,
                     const VectorAccess &access);
/// Returns the constraint letter of a wordType() in inline PTX.
char constraintOf(llvm::Type *word);
/// Packs `elements` (of Emitter::typeOf) into words, and unpacks words.
Registers packWords(Emitter &e, llvm::ArrayRef<llvm::Value *> elements,
                    const VectorAccess &access);
Registers unpackWords(Emitter &e, llvm::ArrayRef<llvm::Value *> words,
                      llvm::Type *element, const VectorAccess &access);

/// Returns the text of the operands: "{$2, $3}", or "$2" for one word.
std::string wordOperands(int64_t first, int64_t words);
/// Returns the `count` results of inline PTX; several are members of a struct.
Registers results(Emitter &e, llvm::Value *call, int64_t count);
/// Returns `a` and `b`. Null means true, in arguments and in the result.
llvm::Value *both(Emitter &e, llvm::Value *a, llvm::Value *b);

} // namespace tessera::codegen::gpu
