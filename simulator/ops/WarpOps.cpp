// simulator/ops/WarpOps.cpp - shfl, vote, match, redux, elect: instructions
// that exchange values between lanes.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/Block.h"
#include "simulator/machine/ByteTaint.h"
#include "simulator/machine/Lanes.h"
#include "simulator/machine/Select.h"

#include <algorithm>

namespace tessera::sim {
namespace {

using U32 = uint32_t;
using U64 = uint64_t;

// Returns the member mask of a .sync instruction. All named lanes that have not
// exited must execute it now. On a GPU they would wait for each other; lockstep
// execution cannot.
U32 members(Warp &w, U32 row, U32 mask) {
  const U32 *names = w.row32(row);
  U32 first = firstLane(mask), named = names[first];
  if (U32 bad = static_cast<U32>(w.taint[row]) & mask)
    violate({Check::Uninitialized, firstLane(bad),
             "the lane mask of this instruction is uninitialized", 0, "", ""});
  for (U32 l = 0; l < Lanes; ++l)
    if (((mask >> l) & 1) && !((names[l] >> l) & 1))
      violate({Check::DivergentWarp, l,
               "a lane executes this instruction that its mask does not name",
               0, "", ""});
  // Groups of lanes with different masks may execute the instruction together.
  for (U32 l = 0; l < Lanes; ++l)
    if ((mask >> l) & 1)
      named |= names[l];
  if (U32 absent = named & w.live & ~mask)
    violate({Check::DivergentWarp, firstLane(absent),
             "the mask of this instruction names a lane that does not execute "
             "it",
             0, "", ""});
  return named;
}

enum ShflMode : uint8_t { ShflUp, ShflDown, ShflBfly, ShflIdx };

// Marks the bytes of the result of a shfl: those of the source lane's register,
// and all bytes of a lane whose source or selector is uninitialized
// (`unknown`).
void setShuffledBytes(Warp &w, const Inst &i, U32 mask,
                      const BytesTainted &from, const U32 *source,
                      U32 unknown) {
  BytesTainted tainted = {};
  for (U32 k = 0; k < 4; ++k) {
    for (U32 l = 0; l < Lanes; ++l)
      tainted[k] |= (from[k] >> source[l] & 1) << l;
    tainted[k] |= unknown;
  }
  setBytesTainted(w, i.op[0], mask, 4, tainted);
}

// op: d, p (or NoRow), a, b, c, members.
void shflOp(Warp &w, const Inst &i, U32 mask) {
  members(w, i.op[5], mask);
  const U32 *a = w.row32(i.op[2]), *b = w.row32(i.op[3]), *c = w.row32(i.op[4]);
  U32 poison = static_cast<U32>(w.taint[i.op[2]]);
  Taint selectors = w.taint[i.op[3]] | w.taint[i.op[4]];
  U32 result[Lanes], sources[Lanes], inside = 0, taint = 0, absentLanes = 0;
  const bool byBytes = hasBytesTainted(w, i.op[2], ~0u);
  const BytesTainted from =
      byBytes ? bytesTainted(w, i.op[2], 4) : BytesTainted{};
  for (U32 l = 0; l < Lanes; ++l) {
    U32 by = b[l] & 31, clamp = c[l] & 31, segment = (c[l] >> 8) & 31;
    U32 most = (l & segment) | (clamp & ~segment), least = l & segment;
    U32 source = l;
    bool in = true;
    switch (i.mode) {
    case ShflUp:
      in = static_cast<int32_t>(l) - static_cast<int32_t>(by) >=
           static_cast<int32_t>(most);
      source = l - by;
      break;
    case ShflDown:
      source = l + by;
      in = source <= most;
      break;
    case ShflBfly:
      source = l ^ by;
      in = source <= most;
      break;
    default:
      source = least | (by & ~segment);
      in = source <= most;
      break;
    }
    if (!in)
      source = l;
    source &= 31;
    // A lane that does not execute the instruction does not provide a value.
    bool absent = !((mask >> source) & 1);
    result[l] = a[source];
    sources[l] = source;
    inside |= static_cast<U32>(in) << l;
    absentLanes |= static_cast<U32>(absent) << l;
    taint |= ((poison >> source) & 1) << l;
  }
  const bool checked = w.block->launch.options->uninitialized;
  const U32 unknown =
      (checked ? absentLanes : 0) | static_cast<U32>(selectors & PoisonBits);
  putLanes(w, i.op[0], mask, result);
  if (byBytes && checked)
    setShuffledBytes(w, i, mask, from, sources, unknown);
  else
    w.setTaint(i.op[0], mask, (checked ? taint : 0) | unknown);
  if (i.op[1] != NoRow) {
    w.setPredicate(i.op[1], mask, inside);
    w.setTaint(i.op[1], mask, selectors & PoisonBits);
  }
}

// op: d, predicate, members. mode: 0 all, 1 any, 2 uni, 3 ballot.
void voteOp(Warp &w, const Inst &i, U32 mask) {
  members(w, i.op[2], mask);
  U32 p = w.predicate(i, 1) & mask;
  Taint taint = (w.taint[i.op[1]] & mask) ? PoisonBits : 0;
  if (i.mode == 3) {
    U32 result[Lanes];
    std::fill_n(result, Lanes, p);
    putLanes(w, i.op[0], mask, result);
  } else {
    bool value = i.mode == 0   ? p == mask
                 : i.mode == 1 ? p != 0
                               : p == mask || p == 0;
    w.setPredicate(i.op[0], mask, value ? ~0u : 0);
  }
  w.setTaint(i.op[0], mask, taint);
}

// op: d, p (match.all only), a, members. mode: 1 for match.all.
template <class L>
void matchOp(Warp &w, const Inst &i, U32 mask) {
  U32 source = i.mode ? 2 : 1;
  members(w, i.op[source + 1], mask);
  const L *a = w.lanes<L>(i.op[source]);
  U32 result[Lanes], same = 0;
  for (U32 l = 0; l < Lanes; ++l) {
    result[l] = 0;
    for (U32 k = 0; k < Lanes; ++k)
      result[l] |= static_cast<U32>(((mask >> k) & 1) && a[k] == a[l]) << k;
  }
  Taint taint = (w.taint[i.op[source]] & mask) ? PoisonBits : 0;
  if (i.mode) {
    bool all = result[firstLane(mask)] == mask;
    same = all ? ~0u : 0;
    std::fill_n(result, Lanes, all ? mask : 0);
    if (i.op[1] != NoRow) {
      w.setPredicate(i.op[1], mask, same);
      w.setTaint(i.op[1], mask, taint);
    }
  }
  if (i.op[0] != NoRow) {
    putLanes(w, i.op[0], mask, result);
    w.setTaint(i.op[0], mask, taint);
  }
}

enum ReduxOp : uint8_t { RAdd, RMin, RMax, RAnd, ROr, RXor };

// op: d, a, members. Each lane reduces over the lanes that its mask names.
void reduxOp(Warp &w, const Inst &i, U32 mask) {
  members(w, i.op[2], mask);
  const U32 *a = w.row32(i.op[1]), *names = w.row32(i.op[2]);
  U32 result[Lanes] = {};
  Taint taint = 0;
  for (U32 l = 0; l < Lanes; ++l) {
    if (!((mask >> l) & 1))
      continue;
    bool first = true;
    for (U32 k = 0; k < Lanes; ++k) {
      if (!((mask & names[l]) >> k & 1))
        continue;
      taint |= static_cast<Taint>((w.taint[i.op[1]] >> k) & 1) << l;
      U32 x = result[l], y = a[k];
      bool less =
          i.flag ? static_cast<int32_t>(y) < static_cast<int32_t>(x) : y < x;
      switch (i.mode) {
      case RAdd:
        x = x + y;
        break;
      case RMin:
        x = less ? y : x;
        break;
      case RMax:
        x = less ? x : y;
        break;
      case RAnd:
        x = x & y;
        break;
      case ROr:
        x = x | y;
        break;
      default:
        x = x ^ y;
        break;
      }
      result[l] = first ? y : x;
      first = false;
    }
  }
  putLanes(w, i.op[0], mask, result);
  w.setTaint(i.op[0], mask, taint);
}

void activeOp(Warp &w, const Inst &i, U32 mask) {
  U32 result[Lanes];
  std::fill_n(result, Lanes, mask);
  putLanes(w, i.op[0], mask, result);
  w.setTaint(i.op[0], mask, 0);
}

// op: d (or NoRow), p, members. The lowest lane is elected.
void electOp(Warp &w, const Inst &i, U32 mask) {
  members(w, i.op[2], mask);
  U32 leader = firstLane(mask);
  U32 result[Lanes];
  std::fill_n(result, Lanes, leader);
  if (i.op[0] != NoRow) {
    putLanes(w, i.op[0], mask, result);
    w.setTaint(i.op[0], mask, 0);
  }
  if (i.op[1] != NoRow) {
    w.setPredicate(i.op[1], mask, 1u << leader);
    w.setTaint(i.op[1], mask, 0);
  }
}

// Executes bar.warp.sync. op[0]: members.
void warpBarrier(Warp &w, const Inst &i, U32 mask) {
  members(w, i.op[0], mask);
  w.block->warpSync(w);
}

} // namespace

Exec selectWarp(const Match &m, Inst &inst) {
  switch (m.row->sem) {
  case Sem::Shfl:
    inst.mode = m.has("up")     ? ShflUp
                : m.has("down") ? ShflDown
                : m.has("bfly") ? ShflBfly
                                : ShflIdx;
    return shflOp;
  case Sem::Vote:
    inst.mode = m.has("all") ? 0 : m.has("any") ? 1 : m.has("uni") ? 2 : 3;
    return voteOp;
  case Sem::MatchSync:
    inst.mode = m.has("all");
    return m.type() == Type::B64 ? matchOp<U64> : matchOp<U32>;
  case Sem::Redux:
    inst.mode = m.has("add")   ? RAdd
                : m.has("min") ? RMin
                : m.has("max") ? RMax
                : m.has("and") ? RAnd
                : m.has("or")  ? ROr
                               : RXor;
    inst.flag = isSignedType(m.type());
    return reduxOp;
  case Sem::Activemask:
    return activeOp;
  case Sem::Elect:
    return electOp;
  case Sem::WarpBarrier:
    return warpBarrier;
  default:
    return nullptr;
  }
}

} // namespace tessera::sim
