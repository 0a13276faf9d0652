// simulator/ops/Tensor.cpp - mma, ldmatrix, stmatrix and movmatrix of one warp.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "simulator/ops/Access.h"

#include "simulator/arith/Mma.h"
#include "simulator/machine/BankConflicts.h"
#include "simulator/machine/Lanes.h"
#include "simulator/machine/Select.h"

#include <algorithm>

namespace tessera::sim {
namespace {

void wholeWarp(Warp &w, U32 mask) {
  if (mask == ~0u)
    return;
  U32 absent = ~mask;
  violate({Check::DivergentWarp, firstLane(absent),
           "all 32 lanes execute this instruction together; lane " +
               std::to_string(firstLane(absent)) + " does not",
           0, "", ""});
}

// Computes the row addresses of `count` matrices in shared memory. Returns the
// lanes that hold an address.
U32 rowAddresses(Warp &w, const Inst &i, U32 source, Access &access) {
  Inst part = i;
  part.space = MemSpace::Shared;
  U32 used = i.count == 4 ? ~0u : (1u << (8 * i.count)) - 1;
  addressesOf(w, part, used, source, access);
  for (U32 l = 0; l < Lanes; ++l)
    if ((access.address[l] & WindowMask) == SharedWindow)
      access.address[l] -= SharedWindow;
  return used;
}

// op: count destinations, address. mode: 1 transposed.
void ldmatrixOp(Warp &w, const Inst &i, U32 mask) {
  wholeWarp(w, mask);
  Access access;
  U32 used = rowAddresses(w, i, i.op[i.count], access);
  checkShared(w, i, used, access.address, 16, 16, false);
  SharedMemory &shared = w.block->shared;
  bool races = w.block->launch.options->races;
  if (w.block->launch.options->counters) {
    // Each matrix takes one pass over eight rows of 16 bytes.
    ExecCount &c = w.block->counts[i.index];
    U32 narrow[Lanes];
    for (U32 l = 0; l < Lanes; ++l)
      narrow[l] = static_cast<U32>(access.address[l]);
    ++c.requests;
    c.ways += bankWays(narrow, 16, used);
    c.leastWays += leastBankWays(16, used);
  }
  U32 regs[4][Lanes];
  for (U32 matrix = 0; matrix < i.count; ++matrix) {
    uint16_t rows[8][8];
    U32 poisonedRows = 0;
    for (U32 r = 0; r < 8; ++r) {
      U32 lane = static_cast<U32>(
          matrixRowLane(static_cast<int>(matrix), static_cast<int>(r)));
      U32 at = static_cast<U32>(access.address[lane]);
      if (races)
        shared.read(w, i, lane, at, 16, true);
      poisonedRows |= static_cast<U32>(shared.poisoned(at, 16)) << r;
      std::memcpy(rows[r], shared.data() + at, 16);
    }
    loadMatrix(rows, i.mode, regs[matrix]);
    // Lane l holds elements of row l / 4. If transposed, it holds elements of
    // rows 2 (l % 4) and 2 (l % 4) + 1.
    U32 taint = 0;
    if (poisonedRows)
      for (U32 l = 0; l < Lanes; ++l) {
        U32 rowsOfLane = i.mode ? 3u << (2 * (l % 4)) : 1u << (l / 4);
        taint |= static_cast<U32>((poisonedRows & rowsOfLane) != 0) << l;
      }
    std::memcpy(w.row32(i.op[matrix]), regs[matrix], sizeof(regs[matrix]));
    w.taint[i.op[matrix]] = taint;
  }
}

// op: address, count sources.
void stmatrixOp(Warp &w, const Inst &i, U32 mask) {
  wholeWarp(w, mask);
  Access access;
  access.writes = true;
  U32 used = rowAddresses(w, i, i.op[0], access);
  checkShared(w, i, used, access.address, 16, 16, true);
  countShared(w, i, used, access.address, 16);
  SharedMemory &shared = w.block->shared;
  for (U32 matrix = 0; matrix < i.count; ++matrix) {
    U32 row = i.op[1 + matrix];
    uint16_t rows[8][8];
    storeMatrix(w.row32(row), i.mode, rows);
    for (U32 r = 0; r < 8; ++r) {
      U32 lane = static_cast<U32>(
          matrixRowLane(static_cast<int>(matrix), static_cast<int>(r)));
      U32 at = static_cast<U32>(access.address[lane]);
      U32 sources = 0;
      for (U32 l = 0; l < Lanes; ++l)
        sources |= static_cast<U32>(i.mode ? l % 4 == r / 2 : l / 4 == r) << l;
      if (w.block->launch.options->races)
        shared.write(w, i, lane, at, 16,
                     reinterpret_cast<const uint8_t *>(rows[r]));
      std::memcpy(shared.data() + at, rows[r], 16);
      shared.setPoison(at, 16, (w.taint[row] & sources) != 0);
    }
  }
}

void movmatrixOp(Warp &w, const Inst &i, U32 mask) {
  wholeWarp(w, mask);
  U32 result[Lanes];
  moveMatrix(w.row32(i.op[1]), result);
  Taint poison = (w.taint[i.op[1]] & PoisonBits) ? PoisonBits : 0;
  std::memcpy(w.row32(i.op[0]), result, sizeof(result));
  w.taint[i.op[0]] = poison;
}

// An element of D is uninitialized if any element of its row of A, of its
// column of B, or its C is.
void mmaTaint(Warp &w, const Inst &i, const MmaShape &s, U32 na, U32 nb,
              U32 nc) {
  const U32 *rows = i.op;
  U32 rowA = 0, colB = 0;
  for (U32 r = 0; r < na; ++r)
    for (U32 l = 0; l < Lanes; ++l)
      if ((w.taint[rows[nc + r]] >> l) & 1)
        rowA |=
            1u
            << mmaIndexA(s, {static_cast<int>(r), static_cast<int>(l), 0}).row;
  for (U32 r = 0; r < nb; ++r)
    for (U32 l = 0; l < Lanes; ++l)
      if ((w.taint[rows[nc + na + r]] >> l) & 1)
        colB |=
            1u
            << mmaIndexB(s, {static_cast<int>(r), static_cast<int>(l), 0}).col;
  int parts = mmaElementsPerRegister(s.d);
  for (U32 r = 0; r < nc; ++r) {
    Taint taint = w.taint[rows[nc + na + nb + r]] & PoisonBits;
    for (U32 l = 0; l < Lanes; ++l)
      for (int part = 0; part < parts; ++part) {
        MmaIndex at =
            mmaIndexC(s.d, {static_cast<int>(r), static_cast<int>(l), part});
        if ((rowA >> at.row) & 1 || (colB >> at.col) & 1)
          taint |= Taint{1} << l;
      }
    w.taint[rows[r]] = taint;
  }
}

// op: the D, A, B and C registers, in that order.
void mmaOp(Warp &w, const Inst &i, U32 mask) {
  wholeWarp(w, mask);
  MmaShape s = mmaShapeOf(i);
  auto na = static_cast<U32>(mmaRegistersA(s));
  auto nb = static_cast<U32>(mmaRegistersB(s));
  auto nc = static_cast<U32>(mmaRegistersC(s));
  Taint any = 0;
  for (U32 k = nc; k < nc + na + nb + nc; ++k)
    any |= w.taint[i.op[k]];
  if (s.d == MmaType::F64) {
    const U64 *c[2];
    U64 *d[2];
    for (U32 r = 0; r < 2; ++r) {
      d[r] = w.row64(i.op[r]);
      c[r] = w.row64(i.op[nc + na + nb + r]);
    }
    mmaF64(w.row64(i.op[nc]), w.row64(i.op[nc + na]), c, d);
  } else {
    const U32 *a[4], *b[4], *c[4];
    U32 *d[4];
    for (U32 r = 0; r < na; ++r)
      a[r] = w.row32(i.op[nc + r]);
    for (U32 r = 0; r < nb; ++r)
      b[r] = w.row32(i.op[nc + na + r]);
    for (U32 r = 0; r < nc; ++r) {
      c[r] = w.row32(i.op[nc + na + nb + r]);
      d[r] = w.row32(i.op[r]);
    }
    mma(s, a, b, c, d, w.block->launch.options->tensorCores);
  }
  if (any & PoisonBits)
    mmaTaint(w, i, s, na, nb, nc);
  else
    for (U32 r = 0; r < nc; ++r)
      w.taint[i.op[r]] = 0;
}

} // namespace

MmaShape mmaShapeOf(const Inst &i) {
  MmaShape s;
  auto bits = static_cast<U64>(i.imm);
  auto take = [&](unsigned at) {
    return static_cast<int>((bits >> at) & 0xff);
  };
  s.m = take(0);
  s.n = take(8);
  s.k = take(16);
  s.d = static_cast<MmaType>(take(24));
  s.a = static_cast<MmaType>(take(32));
  s.b = static_cast<MmaType>(take(40));
  s.c = static_cast<MmaType>(take(48));
  s.satfinite = i.flag;
  return s;
}

Exec selectTensor(const Match &m, Inst &inst) {
  switch (m.row->sem) {
  case Sem::Ldmatrix:
    inst.mode = m.has("trans");
    return ldmatrixOp;
  case Sem::Stmatrix:
    inst.mode = m.has("trans");
    return stmatrixOp;
  case Sem::Movmatrix:
    return movmatrixOp;
  case Sem::Mma: {
    MmaShape s;
    for (std::string_view name : m.modifiers)
      if (name.size() > 4 && name[0] == 'm' && name[1] >= '0' &&
          name[1] <= '9') {
        int *into[3] = {&s.m, &s.n, &s.k};
        int which = -1;
        s.m = s.n = s.k = 0;
        for (char c : name)
          if (c == 'm' || c == 'n' || c == 'k')
            ++which;
          else if (which >= 0 && which < 3)
            *into[which] = *into[which] * 10 + (c - '0');
      }
    s.d = m.type(0);
    s.a = m.type(1);
    s.b = m.type(2);
    s.c = m.type(3);
    inst.flag = s.satfinite = m.has("satfinite");
    if (s.c != s.d || !mmaProblem(s).empty())
      return nullptr;
    inst.imm = static_cast<int64_t>(
        static_cast<U64>(s.m) | static_cast<U64>(s.n) << 8 |
        static_cast<U64>(s.k) << 16 | static_cast<U64>(s.d) << 24 |
        static_cast<U64>(s.a) << 32 | static_cast<U64>(s.b) << 40 |
        static_cast<U64>(s.c) << 48);
    return mmaOp;
  }
  default:
    return nullptr;
  }
}

} // namespace tessera::sim
