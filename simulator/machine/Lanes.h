// simulator/machine/Lanes.h - loops over the lanes of a warp, for the families.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Each function is an Exec: op[0] is the destination, op[1] on are the sources.
// D, A, B, C are uint32_t or uint64_t, the lane types of destination and
// sources; F is a captureless lambda on them. Results go through a local array,
// so that the loops vectorize though rows may be the same.
#pragma once

#include "simulator/isa/Types.h"
#include "simulator/machine/Warp.h"

#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

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

template <class D, auto F, bool Keep, class... Sources>
void lanesOf(Warp &w, const Inst &i, uint32_t mask) {
  [&]<size_t... K>(std::index_sequence<K...>) {
    const std::tuple<const Sources *...> from = {
        w.lanes<Sources>(i.op[1 + K])...};
    alignas(64) D result[Lanes];
    for (uint32_t l = 0; l < Lanes; ++l)
      result[l] = static_cast<D>(F(std::get<K>(from)[l]...));
    putLanes(w, i.op[0], mask, result);
    w.setTaint(i.op[0], mask, kept<Keep>((w.taint[i.op[1 + K]] | ...)));
  }(std::index_sequence_for<Sources...>());
}
template <class D, class A, auto F, bool Keep = false>
inline constexpr Exec lanes1 = lanesOf<D, F, Keep, A>;
template <class D, class A, class B, auto F, bool Keep = false>
inline constexpr Exec lanes2 = lanesOf<D, F, Keep, A, B>;
template <class D, class A, class B, class C, auto F, bool Keep = false>
inline constexpr Exec lanes3 = lanesOf<D, F, Keep, A, B, C>;
// Four sources: bfi.
template <class D, class A, class C, auto F>
inline constexpr Exec lanes4 = lanesOf<D, F, false, A, A, C, C>;

// What f.operator()<flags...>() returns: flags become template arguments.
template <bool... Flags, class F>
auto withFlags(F f) {
  return f.template operator()<Flags...>();
}
template <bool... Flags, class F, class... Rest>
auto withFlags(F f, bool flag, Rest... rest) {
  return flag ? withFlags<Flags..., true>(f, rest...)
              : withFlags<Flags..., false>(f, rest...);
}

// What f(x) returns, where x has the C++ type of an integer type of 16 or more
// bits; .b types are unsigned.
template <class F>
auto withInteger(Type type, F f) {
  switch (type) {
  case Type::B16:
  case Type::U16:
    return f(uint16_t());
  case Type::S16:
    return f(int16_t());
  case Type::B32:
  case Type::U32:
    return f(uint32_t());
  case Type::S32:
    return f(int32_t());
  case Type::B64:
  case Type::U64:
    return f(uint64_t());
  default:
    return f(int64_t());
  }
}

// A lane mask from 32 truth values.
inline uint32_t packMask(const uint32_t *truth) {
  uint32_t mask = 0;
  for (uint32_t l = 0; l < Lanes; ++l)
    mask |= (truth[l] & 1) << l;
  return mask;
}

} // namespace tessera::sim
