// dialect/layout/SharedAccess.h - one warp's loads and stores in shared memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A register layout and a shared layout of the same tile define a map
// (register, lane, warp) -> offset. This file chooses the widest access that
// the map allows: a vector, if register bits are the low bits of the offset, or
// ldmatrix, if the map contains the fragment of ldmatrix as a factor.
#pragma once

#include "dialect/layout/LinearLayout.h"

namespace tessera::layout {

enum class AccessKind : uint8_t {
  Vector,        // ld.shared / st.shared of 1 to 16 bytes a lane
  Ldmatrix,      // rows of 16 bytes, each received by 4 lanes
  LdmatrixTrans, // the same, each 8x8 matrix transposed; 16-bit elements
};

// How a warp loads or stores its elements of a tile. The bits of a register
// number form three groups. `vectorBits` select an element within one lane's
// vector (or within one packed register of ldmatrix), `repeatBits` select the
// instruction, and `iterationBits` select the iteration.
struct SharedAccess {
  AccessKind kind = AccessKind::Vector;
  int elementBits = 32;
  std::vector<int> vectorBits;
  std::vector<int> repeatBits;
  std::vector<int> iterationBits;
  // For ldmatrix, the matrices of one instruction: 1, 2 or 4. The first
  // log2(matrices) repeatBits select the matrix.
  int matrices = 1;
  // (register, lane, warp) -> offset, in elements, of the address operand of
  // the lane. The bases of vectorBits and iterationBits are zero. For ldmatrix,
  // lane 8 i + r passes the address of row r of matrix i, so the bases of the
  // matrices' repeatBits are zero too.
  LinearLayout address;
  // n for n-way bank conflicts in each phase; 1 means no conflicts.
  int ways = 1;

  int bytesPerLane() const;
  // Returns the loads or stores that a warp issues in one iteration.
  int instructions() const;
  // Returns the wavefronts (passes over the banks) of these instructions.
  int wavefronts() const;
  // Returns the 32-bit permutes (PRMT) before the stores or after the loads.
  // The lowest register bits decide which narrow elements share a 32-bit
  // register. A vector in which other elements are adjacent must be packed
  // before a store and unpacked after a load.
  int permutes() const;
  // Returns the 32-bit moves after the loads. A vector load writes consecutive
  // hardware registers; mma and vector stores read consecutive registers, in
  // the order of the register bits. If vectorBits are not the lowest register
  // bits in order, these operands come from several loads and must be moved.
  // Permutes, if there are any, include the moves.
  int moves() const;
};

// Returns the number of rows of 128 bytes in which one phase touches the same
// bank. `elements`, offsets in elements, span the set that the phase touches.
int bankConflictWays(const std::vector<Word> &elements, int elementBits);

// Returns the map (register, lane, warp) -> offset; the bases of the register
// bits `iterations` are zero. Throws LayoutError if `shared` lacks an element
// that `registers` holds.
LinearLayout offsetsOf(const LinearLayout &registers,
                       const LinearLayout &shared,
                       const std::vector<int> &iterations = {});

// Returns the widest vector access of at most maxBytes per lane. `registers`
// must not hold an element twice in a lane (see dropReplication).
SharedAccess vectorAccess(const LinearLayout &registers,
                          const LinearLayout &shared, int elementBits,
                          int maxBytes = 16,
                          const std::vector<int> &iterations = {});
// Returns the access by ldmatrix, or ldmatrix.trans if `transposed`; nullopt if
// the layouts do not allow it. The lowest register bits select the element in a
// 32-bit register.
std::optional<SharedAccess>
ldmatrixAccess(const LinearLayout &registers, const LinearLayout &shared,
               int elementBits, bool transposed,
               const std::vector<int> &iterations = {});

// Returns the load with the fewest wavefronts, then the fewest instructions and
// permutes, among vector loads and ldmatrix. Prefers ldmatrix if both are
// equal.
SharedAccess bestLoad(const LinearLayout &registers, const LinearLayout &shared,
                      int elementBits);

} // namespace tessera::layout
