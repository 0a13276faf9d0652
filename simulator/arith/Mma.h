// simulator/arith/Mma.h - tensor-core products and matrix moves of one warp.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions": mma ("Matrix
// Fragments for mma..."), ldmatrix, stmatrix, movmatrix. Registers are arrays
// of 32 lanes.
#pragma once

#include "simulator/arith/TensorCores.h"

#include <cstdint>
#include <string>

namespace tessera::sim {

// One mma.sync: D (m x n) = A (m x k) * B (k x n) + C (m x n).
struct MmaShape {
  int m = 16, n = 8, k = 16;
  MmaType a = MmaType::F16, b = MmaType::F16, c = MmaType::F32,
          d = MmaType::F32;
  bool satfinite = false; // integers: clamps instead of wrapping
};

// Where an element of a matrix lives: register, lane, and which element of the
// register (0 is the lowest bits).
struct MmaPlace {
  int reg, lane, part;
};
struct MmaIndex {
  int row, col;
};

int mmaElementsPerRegister(MmaType type);
// Registers a lane holds of each matrix (64-bit registers for f64).
int mmaRegistersA(const MmaShape &shape);
int mmaRegistersB(const MmaShape &shape);
int mmaRegistersC(const MmaShape &shape);

// With g = lane / 4, t = lane % 4 and E elements to a register:
//   A: row g + 8 (reg % 2), column E t + part + 4 E (reg / 2)
//      (m = 8: row g, column E t + part + 4 E reg)
//   B: row E t + part + 4 E reg, column g
//   C: two neighbouring columns 2 t, 2 t + 1 of row g, then of row g + 8
MmaIndex mmaIndexA(const MmaShape &shape, MmaPlace place);
MmaIndex mmaIndexB(const MmaShape &shape, MmaPlace place);
MmaIndex mmaIndexC(MmaType type, MmaPlace place);

// Empty when the ISA has this instruction for sm_80 (or, for 8-bit floats,
// sm_89), else what is wrong.
std::string mmaProblem(const MmaShape &shape);

// Executes one instruction. a, b, c, d: one pointer to 32 lanes per register; d
// may be c. Not for f64.
//
// f16, bf16, tf32, 8-bit floats: products are exact; they are added to C as
// `cores` says. Fused agrees with a GPU to a few units of 2^-23 of the largest
// addend, not bit for bit; it is what 8-bit floats and an f16 C or D always
// get. tf32 operands lose their low 13 bits (truncation). An f16 C or D is
// widened first and rounded once at the end. s8/u8: exact in 64 bits, then
// wrapped or clamped.
void mma(const MmaShape &shape, const uint32_t *const *a,
         const uint32_t *const *b, const uint32_t *const *c, uint32_t *const *d,
         TensorCores cores = TensorCores::Fused);
// m8n8k4.f64: fused multiply-adds in ascending k, .rn.
void mmaF64(const uint64_t *a, const uint64_t *b, const uint64_t *const *c,
            uint64_t *const *d);

// ldmatrix .m8n8.b16: the address of row r of matrix i comes from lane 8 i + r.
inline int matrixRowLane(int matrix, int row) { return 8 * matrix + row; }
// Spreads one 8x8 matrix, given as 8 rows of 16 bytes, over a register: lane l
// gets elements (l / 4, 2 (l % 4)) and (l / 4, 2 (l % 4) + 1); with .trans row
// and column change places.
void loadMatrix(const uint16_t rows[8][8], bool transposed, uint32_t reg[32]);
// The inverse: stmatrix.
void storeMatrix(const uint32_t reg[32], bool transposed, uint16_t rows[8][8]);
// movmatrix.sync.aligned.m8n8.trans.b16. out may be in.
void moveMatrix(const uint32_t in[32], uint32_t out[32]);

} // namespace tessera::sim
