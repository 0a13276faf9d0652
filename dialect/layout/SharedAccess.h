// dialect/layout/SharedAccess.h - one warp's loads and stores in shared memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A register layout and a shared layout of the same tile give the conversion
// (register, lane, warp) -> offset. The largest access is found by dividing it:
// by `register -> offset` for a vector, by the tile of ldmatrix for ldmatrix.
#pragma once

#include "dialect/layout/LinearLayout.h"

namespace tessera::layout {

enum class AccessKind : uint8_t {
  Vector,        // ld.shared / st.shared of 1 to 16 bytes a lane
  Ldmatrix,      // rows of 16 bytes, 4 lanes to a row
  LdmatrixTrans, // the same, each 8x8 matrix transposed; 16-bit elements
};

// How a warp loads or stores its elements of a tile. Register numbers consist
// of three groups of bits: `vectorBits` select one lane's elements of one
// instruction (or those packed into a register of ldmatrix), `repeatBits` the
// instruction, and `iterationBits` the iteration.
struct SharedAccess {
  AccessKind kind = AccessKind::Vector;
  int elementBits = 32;
  std::vector<int> vectorBits;
  std::vector<int> repeatBits;
  std::vector<int> iterationBits;
  // Ldmatrix: 1, 2 or 4 matrices by one instruction; the first log2(matrices)
  // repeatBits say which.
  int matrices = 1;
  // (register, lane, warp) -> offset that the lane passes, in elements; zero
  // for vectorBits and iterationBits. For ldmatrix lane 8 i + r passes row r of
  // matrix i, so here the matrices' repeatBits are zero too.
  LinearLayout address;
  // Rows of 128 bytes that share a bank in the worst phase; 1 means no bank
  // conflicts.
  int ways = 1;

  int bytesPerLane() const;
  // Instructions of one warp in one iteration.
  int instructions() const;
  // Wavefronts (passes over the banks) that these instructions take.
  int wavefronts() const;
  // 32-bit permutes around them. Elements narrower than a register lie in
  // registers as their lowest register bits say; a vector of other neighbours
  // has to be put together (taken apart) first.
  int permutes() const;
  // 32-bit moves behind a load whose vectors are other registers than those of
  // the lowest register bits in their order: mma takes the registers of a
  // fragment, and a store those of a vector, as neighbours, which are one word
  // of several such loads. Permutes put them in order on the way.
  int moves() const;
};

// The rows of 128 bytes by which `elements` (offsets in elements, generators of
// the set that one phase touches) meet in a bank.
int bankConflictWays(const std::vector<Word> &elements, int elementBits);

// (register, lane, warp) -> offset; zero for the register bits of `iterations`.
// LayoutError when `shared` lacks an element that `registers` holds.
LinearLayout offsetsOf(const LinearLayout &registers,
                       const LinearLayout &shared,
                       const std::vector<int> &iterations = {});

// The widest vector access, at most maxBytes a lane. `registers` holds no
// element twice in a lane (dropReplication).
SharedAccess vectorAccess(const LinearLayout &registers,
                          const LinearLayout &shared, int elementBits,
                          int maxBytes = 16,
                          const std::vector<int> &iterations = {});
// The access by ldmatrix (.trans), when the division succeeds. The elements of
// a 32-bit register are those of the lowest register bits.
std::optional<SharedAccess>
ldmatrixAccess(const LinearLayout &registers, const LinearLayout &shared,
               int elementBits, bool transposed,
               const std::vector<int> &iterations = {});

// The load with the fewest passes over the banks, then the fewest instructions
// and permutes: by vectors, or by ldmatrix where the division succeeds. Among
// equals ldmatrix.
SharedAccess bestLoad(const LinearLayout &registers, const LinearLayout &shared,
                      int elementBits);

} // namespace tessera::layout
