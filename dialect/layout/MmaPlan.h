// dialect/layout/MmaPlan.h - a dot as tensor-core instructions.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Maps registers of a, b and acc to the fragments of each instruction. The plan
// depends only on the bases of the three layouts. They fit if the lanes of a
// and acc agree on rows, those of b and acc on columns, and those of a and b on
// K (PTX ISA 9.7.14.5, "Matrix Fragments").
#pragma once

#include "dialect/layout/LinearLayout.h"

#include <optional>

namespace tessera::layout {

/// The tile of one mma.sync: m16n8k16 (16 bits), m16n8k8 (tf32), m16n8k32 (8
/// bits) or m8n8k4 (f64).
struct MmaShape {
  int m = 16, n = 8, k = 16;
  /// Consecutive elements along K that share a 32-bit register of an operand: 2
  /// for 16 bits, 4 for 8 bits, 1 for tf32 and f64.
  int packed = 2;
};

struct MmaPlan {
  /// True if the instruction computes b^T a^T: its A is the dot's b, and its
  /// rows are columns of acc. The fragments below are those of the instruction.
  bool swapped = false;
  /// Registers of the fragments, in the order of the instruction's registers
  /// and of the elements in them.
  std::vector<std::vector<int>> a, b, acc;
  /// Indices into these, in program order: K outermost, so that instructions
  /// on one accumulator are far apart, then rows, then columns.
  struct Step {
    int a, b, acc;
  };
  std::vector<Step> steps;
  /// For each register of the result, the register of acc that holds the same
  /// element in the fragments. The two differ for replicas.
  std::vector<int> results;
};

/// Returns the plan for a: [.., M, K], b: [.., K, N], acc: [.., M, N], or for
/// the transposed product with a and b exchanged. Returns nullopt if an
/// instruction would need an element that its lane does not hold.
///
/// a and b may number K in any order that they share, because the sums are the
/// same. If a tile has fewer rows or columns than the instruction, lanes hold
/// replicas.
std::optional<MmaPlan> planMma(const LinearLayout &a, const LinearLayout &b,
                               const LinearLayout &acc, const MmaShape &shape);

/// Converts between element words of a, b and acc. All axes but the last two
/// are the batch.
struct DotWords {
  explicit DotWords(const LinearLayout &acc, int kBits);

  int batch, m, n, k; // bits
  /// Return the bits of acc's element that select the row of a or column of b.
  Word rowOf(Word acc) const { return acc & mask(batch + m); }
  Word columnOf(Word acc) const {
    return (acc & mask(batch)) | (acc >> (batch + m)) << (batch + k);
  }
  Word inA(Word index) const { return index << (batch + m); }
  Word inB(Word index) const { return index << batch; }
  static Word mask(int bits) { return (Word(1) << bits) - 1; }
};

} // namespace tessera::layout
