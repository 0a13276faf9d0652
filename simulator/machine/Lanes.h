// simulator/machine/Lanes.h - loops over the lanes of a warp, for the families.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Each function is an Exec: op[0] is the destination, op[1] on are the sources.
// D, A, B, C are uint32_t or uint64_t, the lane types of destination and
// sources; F is a captureless lambda on them. Results go through a local array,
// so that the loops vectorize though rows may be the same.
#pragma once

#include "simulator/machine/Warp.h"

#include <cstring>

namespace tessera::sim {

// Keep: the overflow taint survives (address arithmetic); otherwise it ends.
template <class D>
inline void putLanes(Warp &w, uint32_t row, uint32_t mask, const D *from) {
  D *to = w.lanes<D>(row);
  if (mask == ~0u) {
    std::memcpy(to, from, sizeof(D) * Lanes);
    return;
  }
  for (uint32_t l = 0; l < Lanes; ++l)
    to[l] = (mask >> l) & 1 ? from[l] : to[l];
}

template <bool Keep>
inline Taint kept(Taint taint) {
  return Keep ? taint : taint & PoisonBits;
}

template <class D, class A, auto F, bool Keep = false>
void lanes1(Warp &w, const Inst &i, uint32_t mask) {
  const A *a = w.lanes<A>(i.op[1]);
  alignas(64) D result[Lanes];
  for (uint32_t l = 0; l < Lanes; ++l)
    result[l] = static_cast<D>(F(a[l]));
  putLanes(w, i.op[0], mask, result);
  w.setTaint(i.op[0], mask, kept<Keep>(w.taint[i.op[1]]));
}

template <class D, class A, class B, auto F, bool Keep = false>
void lanes2(Warp &w, const Inst &i, uint32_t mask) {
  const A *a = w.lanes<A>(i.op[1]);
  const B *b = w.lanes<B>(i.op[2]);
  alignas(64) D result[Lanes];
  for (uint32_t l = 0; l < Lanes; ++l)
    result[l] = static_cast<D>(F(a[l], b[l]));
  putLanes(w, i.op[0], mask, result);
  w.setTaint(i.op[0], mask, kept<Keep>(w.taint[i.op[1]] | w.taint[i.op[2]]));
}

template <class D, class A, class B, class C, auto F, bool Keep = false>
void lanes3(Warp &w, const Inst &i, uint32_t mask) {
  const A *a = w.lanes<A>(i.op[1]);
  const B *b = w.lanes<B>(i.op[2]);
  const C *c = w.lanes<C>(i.op[3]);
  alignas(64) D result[Lanes];
  for (uint32_t l = 0; l < Lanes; ++l)
    result[l] = static_cast<D>(F(a[l], b[l], c[l]));
  putLanes(w, i.op[0], mask, result);
  w.setTaint(
      i.op[0], mask,
      kept<Keep>(w.taint[i.op[1]] | w.taint[i.op[2]] | w.taint[i.op[3]]));
}

// Four sources: bfi.
template <class D, class A, class C, auto F>
void lanes4(Warp &w, const Inst &i, uint32_t mask) {
  const A *a = w.lanes<A>(i.op[1]);
  const A *b = w.lanes<A>(i.op[2]);
  const C *c = w.lanes<C>(i.op[3]);
  const C *d = w.lanes<C>(i.op[4]);
  alignas(64) D result[Lanes];
  for (uint32_t l = 0; l < Lanes; ++l)
    result[l] = static_cast<D>(F(a[l], b[l], c[l], d[l]));
  putLanes(w, i.op[0], mask, result);
  w.setTaint(i.op[0], mask,
             kept<false>(w.taint[i.op[1]] | w.taint[i.op[2]] |
                         w.taint[i.op[3]] | w.taint[i.op[4]]));
}

// A lane mask from 32 truth values.
inline uint32_t packMask(const uint32_t *truth) {
  uint32_t mask = 0;
  for (uint32_t l = 0; l < Lanes; ++l)
    mask |= (truth[l] & 1) << l;
  return mask;
}

} // namespace tessera::sim
