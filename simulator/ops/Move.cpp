// simulator/ops/Move.cpp - mov with packing, cvta, isspacep and special
// registers.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/Block.h"
#include "simulator/machine/ByteTaint.h"
#include "simulator/machine/Lanes.h"
#include "simulator/machine/Select.h"

#include <utility>

namespace tessera::sim {
namespace {

using U32 = uint32_t;
using U64 = uint64_t;

template <class L>
void copyOp(Warp &w, const Inst &i, uint32_t mask) {
  if (hasBytesTainted(w, i.op[1], mask)) {
    const BytesTainted tainted = bytesTainted(w, i.op[1], sizeof(L));
    L value[Lanes];
    std::memcpy(value, w.lanes<L>(i.op[1]), sizeof(value));
    putLanes(w, i.op[0], mask, value);
    return setBytesTainted(w, i.op[0], mask, sizeof(L), tainted);
  }
  const L *from = w.lanes<L>(i.op[1]);
  if (mask == ~0u) {
    std::memmove(w.lanes<L>(i.op[0]), from, sizeof(L) * Lanes);
    w.taint[i.op[0]] = w.taint[i.op[1]];
    return;
  }
  L result[Lanes];
  std::memcpy(result, from, sizeof(result));
  putLanes(w, i.op[0], mask, result);
  w.setTaint(i.op[0], mask, w.taint[i.op[1]]);
}

// Copies 128 bits: two rows of 64.
void copyWide(Warp &w, const Inst &i, uint32_t mask) {
  for (U32 part = 0; part < 2; ++part) {
    U64 result[Lanes];
    std::memcpy(result, w.row64(i.op[1] + 2 * part), sizeof(result));
    putLanes(w, i.op[0] + 2 * part, mask, result);
  }
  w.setTaint(i.op[0], mask, w.taint[i.op[1]]);
}

// Packs {a, b, ...} into one register. count: number of parts. bytes: of a
// part.
void packOp(Warp &w, const Inst &i, uint32_t mask) {
  U64 result[2][Lanes] = {};
  Taint taint = 0;
  BytesTainted tainted = {};
  for (U32 part = 0; part < i.count; ++part) {
    U32 row = i.op[1 + part];
    if (w.taint[row] & mask && i.count * i.bytes <= 8) {
      const BytesTainted own = bytesTainted(w, row, i.bytes);
      std::copy_n(own.begin(), i.bytes, tainted.begin() + part * i.bytes);
    }
    taint |= w.taint[row];
    U32 at = part * i.bytes;
    for (U32 l = 0; l < Lanes; ++l) {
      U64 value = i.bytes == 8 ? w.row64(row)[l] : w.row32(row)[l];
      if (i.bytes < 4)
        value &= (U64{1} << (8 * i.bytes)) - 1;
      result[at / 8][l] |= value << (8 * (at % 8));
    }
  }
  U32 total = U32{i.count} * i.bytes;
  if (total <= 4) {
    U32 narrow[Lanes];
    for (U32 l = 0; l < Lanes; ++l)
      narrow[l] = static_cast<U32>(result[0][l]);
    putLanes(w, i.op[0], mask, narrow);
  } else {
    putLanes(w, i.op[0], mask, result[0]);
    if (total > 8)
      putLanes(w, i.op[0] + 2, mask, result[1]);
  }
  if (total <= 8)
    setBytesTainted(w, i.op[0], mask, total, tainted);
  else
    w.setTaint(i.op[0], mask, taint & PoisonBits);
}

// Unpacks one register to {a, b, ...}. mode: bytes of the source, which is
// op[count].
void unpackOp(Warp &w, const Inst &i, uint32_t mask) {
  U32 source = i.op[i.count];
  Taint taint = w.taint[source] & PoisonBits;
  U64 value[2][Lanes];
  for (U32 l = 0; l < Lanes; ++l) {
    value[0][l] = i.mode <= 4 ? w.row32(source)[l] : w.row64(source)[l];
    value[1][l] = i.mode == 16 ? w.row64(source + 2)[l] : 0;
  }
  // Reads all parts first, because a part may overwrite the source's row.
  BytesTainted tainted = {};
  if (taint & mask && i.mode <= 8)
    tainted = bytesTainted(w, source, i.mode);
  for (U32 part = 0; part < i.count; ++part) {
    if (i.op[part] == NoRow)
      continue;
    U32 at = part * i.bytes;
    if (i.bytes == 8) {
      putLanes(w, i.op[part], mask, value[at / 8]);
    } else {
      U32 narrow[Lanes];
      U32 keep = i.bytes == 4 ? ~0u : (1u << (8 * i.bytes)) - 1;
      for (U32 l = 0; l < Lanes; ++l)
        narrow[l] = static_cast<U32>(value[at / 8][l] >> (8 * (at % 8))) & keep;
      putLanes(w, i.op[part], mask, narrow);
    }
    if (i.mode > 8) {
      w.setTaint(i.op[part], mask, taint);
      continue;
    }
    BytesTainted own = {};
    std::copy_n(tainted.begin() + at, i.bytes, own.begin());
    setBytesTainted(w, i.op[part], mask, i.bytes, own);
  }
}

void movePredicate(Warp &w, const Inst &i, uint32_t mask) {
  w.setPredicate(i.op[0], mask, w.predicate(i, 1));
  w.setTaint(i.op[0], mask, w.taint[i.op[1]]);
}

// Reads special registers that change while a kernel runs. mode: the Special.
void movSpecial(Warp &w, const Inst &i, uint32_t mask) {
  U64 value = w.executed;
  auto special = static_cast<ptx::Special>(i.mode);
  if (special == ptx::Special::ClockHi ||
      special == ptx::Special::GlobalTimerHi)
    value >>= 32;
  if (i.bytes == 8) {
    U64 result[Lanes];
    for (U64 &lane : result)
      lane = value;
    putLanes(w, i.op[0], mask, result);
  } else {
    U32 result[Lanes];
    for (U32 &lane : result)
      lane = static_cast<U32>(value);
    putLanes(w, i.op[0], mask, result);
  }
  w.setTaint(i.op[0], mask, 0);
}

// imm: the window. Global and constant addresses are generic already.
void cvtaOp(Warp &w, const Inst &i, uint32_t mask) {
  const U64 *a = w.row64(i.op[1]);
  U64 window = static_cast<U64>(i.imm), result[Lanes];
  for (U32 l = 0; l < Lanes; ++l)
    result[l] = i.flag ? (a[l] & WindowMask) == window ? a[l] - window : a[l]
                       : a[l] | window;
  putLanes(w, i.op[0], mask, result);
  w.setTaint(i.op[0], mask, w.taint[i.op[1]]);
}

void isspaceOp(Warp &w, const Inst &i, uint32_t mask) {
  const U64 *a = w.row64(i.op[1]);
  U32 truth[Lanes];
  for (U32 l = 0; l < Lanes; ++l) {
    U64 window = a[l] & WindowMask;
    bool isConst = i.space == MemSpace::Const;
    truth[l] = window == static_cast<U64>(i.imm) &&
               (window != 0 || isConst == w.block->isConstant(a[l]));
  }
  w.setPredicate(i.op[0], mask, packMask(truth));
  w.setTaint(i.op[0], mask, w.taint[i.op[1]] & PoisonBits);
}

void policyOp(Warp &w, const Inst &i, uint32_t mask) {
  U64 result[Lanes] = {};
  putLanes(w, i.op[0], mask, result);
  w.setTaint(i.op[0], mask, 0);
}

} // namespace

// For mov: inst.count parts of inst.bytes. mode: 0 copy, 1 pack, 2 unpack
// (bytes of the source in mode2), 3 special register (in mode2).
Exec selectMove(const Match &m, Inst &inst) {
  switch (m.row->sem) {
  case Sem::Mov:
    if (inst.mode == 0)
      return inst.bytes == 16  ? copyWide
             : inst.bytes == 8 ? copyOp<U64>
                               : copyOp<U32>;
    if (inst.mode == 1)
      return packOp;
    return std::exchange(inst.mode, inst.mode2) == 2 ? unpackOp : movSpecial;
  case Sem::MovPredicate:
    return movePredicate;
  case Sem::Cvta:
  case Sem::CvtaTo:
  case Sem::Isspacep: {
    bool shared = m.has("shared") || m.has("shared::cta");
    inst.imm = static_cast<int64_t>(shared           ? SharedWindow
                                    : m.has("local") ? LocalWindow
                                    : m.has("param") ? ParamWindow
                                                     : 0);
    inst.space = m.has("const") ? MemSpace::Const : MemSpace::Global;
    inst.flag = m.row->sem == Sem::CvtaTo;
    return m.row->sem == Sem::Isspacep ? isspaceOp : cvtaOp;
  }
  case Sem::CreatePolicy:
    return policyOp;
  default:
    return nullptr;
  }
}

} // namespace tessera::sim
