// simulator/ops/Atomic.cpp - atom and red, executed lane by lane.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "simulator/ops/GlobalRaces.h"

#include "simulator/arith/Half.h"
#include "simulator/machine/Lanes.h"
#include "simulator/machine/Select.h"

#include <algorithm>

namespace tessera::sim {
namespace {

enum AtomicOp : uint8_t {
  AtomAnd,
  AtomOr,
  AtomXor,
  AtomExch,
  AtomAdd,
  AtomInc,
  AtomDec,
  AtomMin,
  AtomMax,
  AtomCas,
};

template <Half H>
U64 halfOp(AtomicOp op, U64 a, U64 b) {
  auto x = static_cast<uint16_t>(a), y = static_cast<uint16_t>(b);
  return op == AtomAdd   ? addHalf<H>(x, y)
         : op == AtomMin ? minHalf<H>(x, y)
                         : maxHalf<H>(x, y);
}

U64 combine(AtomicOp op, Type type, U64 old, U64 b, U64 c) {
  auto s = [&](U64 v) {
    return typeBits(type) == 32 ? int64_t{static_cast<int32_t>(v)}
                                : static_cast<int64_t>(v);
  };
  switch (op) {
  case AtomAnd:
    return old & b;
  case AtomOr:
    return old | b;
  case AtomXor:
    return old ^ b;
  case AtomExch:
    return b;
  case AtomInc:
    return old >= b ? 0 : old + 1;
  case AtomDec:
    return old == 0 || old > b ? b : old - 1;
  case AtomCas:
    return old == b ? c : old;
  default:
    break;
  }
  switch (type) {
  case Type::F32:
    return addF32<>(static_cast<U32>(old), static_cast<U32>(b));
  case Type::F64:
    return addF64<>(old, b);
  case Type::F16:
    return halfOp<Half::F16>(op, old, b);
  case Type::Bf16:
    return halfOp<Half::Bf16>(op, old, b);
  case Type::F16x2:
    return halfOp<Half::F16>(op, old, b) |
           halfOp<Half::F16>(op, old >> 16, b >> 16) << 16;
  case Type::Bf16x2:
    return halfOp<Half::Bf16>(op, old, b) |
           halfOp<Half::Bf16>(op, old >> 16, b >> 16) << 16;
  default:
    break;
  }
  if (op == AtomAdd)
    return old + b;
  bool less = isSignedType(type) ? s(old) < s(b) : old < b;
  return (op == AtomMin) == less ? old : b;
}

U64 laneValue(Warp &w, U32 row, U32 lane, U32 bytes) {
  if (bytes == 8)
    return w.row64(row)[lane];
  return w.row32(row)[lane] & (bytes == 2 ? 0xffffu : ~0u);
}

// op: [destinations,] address, operands [, new value]. flag: has destinations.
// count: elements. bytes: size of an element. mode: AtomicOp. mode2: Type.
void atomicOp(Warp &w, const Inst &i, U32 mask) {
  U32 base = i.flag ? i.count : 0;
  auto op = static_cast<AtomicOp>(i.mode);
  auto type = static_cast<Type>(i.mode2);
  Access access;
  access.bytes = U32{i.count} * i.bytes;
  access.writes = true;
  addressesOf(w, i, mask, i.op[base], access);
  U32 operands = op == AtomCas ? 2 : i.count;
  for (U32 k = 0; k < operands; ++k)
    if (U32 bad = static_cast<U32>(w.taint[i.op[base + 1 + k]]) & mask)
      violate({Check::Uninitialized, firstLane(bad),
               "an operand of this atomic is uninitialized", 0, "", ""});
  bySpace(i, mask, access, [&](MemSpace space, U32 part) {
    bool isShared = space == MemSpace::Shared;
    Allocation *allocation = nullptr;
    if (isShared) {
      checkShared(w, i, part, access.address, access.bytes, access.bytes, true);
      countShared(w, i, part, access.address, access.bytes);
    } else if (space == MemSpace::Global) {
      allocation = checkGlobal(w, i, part, access);
      countGlobal(w, i, part, access, allocation);
    } else {
      violate({Check::Unsupported, firstLane(part),
               "atomics work on global and shared memory", 0, "", ""});
    }
    GlobalMemory &memory = *w.block->launch.memory;
    for (U32 l = 0; l < Lanes; ++l) {
      if (!((part >> l) & 1))
        continue;
      U64 address = access.address[l];
      uint8_t *at;
      Taint poison = 0;
      std::unique_lock<std::mutex> lock;
      if (isShared) {
        auto first = static_cast<U32>(address);
        SharedMemory &shared = w.block->shared;
        w.block->atomicSync(w, first);
        if (w.block->launch.options->races)
          shared.write(w, i, l, first, access.bytes, nullptr);
        w.block->afterAtomic(w);
        poison = shared.poisoned(first, access.bytes);
        shared.setPoison(first, access.bytes, false);
        at = shared.data() + address;
      } else {
        lock = std::unique_lock(memory.lockFor(address));
        Allocation *a = allocation ? allocation : memory.find(address);
        if (!a->unwritten.empty()) {
          uint8_t *state = &a->unwritten[address - a->base];
          for (U32 b = 0; b < access.bytes; ++b)
            poison |= state[b] && w.block->launch.options->uninitialized;
          std::memset(state, 0, access.bytes);
        }
        if (w.block->launch.options->conflicts != GlobalConflicts::Off) {
          noteGlobalWrite(w, i, l, *a, address, access.bytes, nullptr, nullptr);
          orderGlobal(w, i, l, address);
        }
        at = reinterpret_cast<uint8_t *>(address);
      }
      if (poison && op != AtomExch)
        violate({Check::Uninitialized, l,
                 "an atomic on memory that no thread has written", address,
                 isShared ? "shared + " + std::to_string(address)
                          : memory.describe(address),
                 ""});
      for (U32 k = 0; k < i.count; ++k) {
        U64 old = 0;
        std::memcpy(&old, at + k * i.bytes, i.bytes);
        U64 b = laneValue(w, i.op[base + 1 + k], l, i.bytes);
        U64 c = op == AtomCas ? laneValue(w, i.op[base + 2], l, i.bytes) : 0;
        U64 result = combine(op, type, old, b, c);
        if (!isShared && w.block->launch.options->resident)
          w.block->launch.changes += result != old;
        std::memcpy(at + k * i.bytes, &result, i.bytes);
        if (i.flag && i.op[k] != NoRow) {
          if (i.bytes == 8)
            w.row64(i.op[k])[l] = old;
          else
            w.row32(i.op[k])[l] = static_cast<U32>(old);
        }
      }
    }
  });
  if (i.flag)
    for (U32 k = 0; k < i.count; ++k)
      if (i.op[k] != NoRow)
        w.setTaint(i.op[k], mask, 0);
}

struct AtomicName {
  std::string_view name;
  AtomicOp op;
};
constexpr AtomicName Names[] = {
    {"and", AtomAnd}, {"or", AtomOr},   {"xor", AtomXor}, {"exch", AtomExch},
    {"add", AtomAdd}, {"inc", AtomInc}, {"dec", AtomDec}, {"min", AtomMin},
    {"max", AtomMax}, {"cas", AtomCas},
};

} // namespace

Exec selectAtomic(const Match &m, Inst &inst) {
  if (m.row->sem != Sem::Atomic && m.row->sem != Sem::Reduction)
    return nullptr;
  for (const AtomicName &entry : Names)
    if (m.has(entry.name))
      inst.mode = entry.op;
  inst.mode2 = static_cast<uint8_t>(m.type());
  inst.order = orderOf(m);
  inst.flag = m.row->sem == Sem::Atomic;
  return atomicOp;
}

} // namespace tessera::sim
