// simulator/ops/Memory.cpp - ld and st for every state space.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "simulator/ops/GlobalRaces.h"

#include "simulator/machine/Lanes.h"
#include "simulator/machine/Select.h"

namespace tessera::sim {
namespace {

// Writes element `k` of a lane's bytes to its register. i.mode: bytes of the
// register. i.flag: sign-extend.
void putElement(Warp &w, const Inst &i, U32 row, U32 lane,
                const uint8_t *from) {
  U64 value = 0;
  switch (i.bytes) {
  case 1:
    value =
        i.flag ? static_cast<U64>(int64_t{static_cast<int8_t>(*from)}) : *from;
    break;
  case 2: {
    uint16_t v;
    std::memcpy(&v, from, 2);
    value = i.flag ? static_cast<U64>(int64_t{static_cast<int16_t>(v)}) : v;
    break;
  }
  case 4: {
    U32 v;
    std::memcpy(&v, from, 4);
    value = i.flag ? static_cast<U64>(int64_t{static_cast<int32_t>(v)}) : v;
    break;
  }
  case 8:
    std::memcpy(&value, from, 8);
    break;
  default: // 16 bytes: two rows of 64 bits
    std::memcpy(&w.row64(row)[lane], from, 8);
    std::memcpy(&w.row64(row + 2)[lane], from + 8, 8);
    return;
  }
  if (i.mode == 8)
    w.row64(row)[lane] = value;
  else
    w.row32(row)[lane] =
        static_cast<U32>(value) & (i.mode == 2 ? 0xffffu : ~0u);
}

// Writes all elements of all lanes. from(lane) points to the lane's bytes.
template <class F>
void putAll(Warp &w, const Inst &i, U32 mask, F from) {
  if (i.bytes == 4 && i.mode == 4) {
    for (U32 k = 0; k < i.count; ++k) {
      if (i.op[k] == NoRow)
        continue;
      U32 *row = w.row32(i.op[k]);
      for (U32 l = 0; l < Lanes; ++l)
        if ((mask >> l) & 1)
          std::memcpy(&row[l], from(l) + 4 * k, 4);
    }
    return;
  }
  for (U32 k = 0; k < i.count; ++k)
    if (i.op[k] != NoRow)
      for (U32 l = 0; l < Lanes; ++l)
        if ((mask >> l) & 1)
          putElement(w, i, i.op[k], l, from(l) + k * i.bytes);
}

void taintAll(Warp &w, const Inst &i, U32 mask, Taint poison) {
  for (U32 k = 0; k < i.count; ++k)
    if (i.op[k] != NoRow)
      w.setTaint(i.op[k], mask, poison);
}

void loadGlobal(Warp &w, const Inst &i, U32 mask, const Access &access) {
  Allocation *allocation = checkGlobal(w, i, mask, access);
  countGlobal(w, i, mask, access, allocation);
  putAll(w, i, mask, [&](U32 l) {
    return reinterpret_cast<const uint8_t *>(access.address[l]);
  });
  Taint poison = 0;
  GlobalMemory &memory = *w.block->launch.memory;
  const bool uninitialized = w.block->launch.options->uninitialized;
  if (w.block->launch.options->conflicts != GlobalConflicts::Off &&
      (i.order || !allocation || allocation->writable)) {
    GlobalLock lock(memory);
    for (U32 l = 0; l < Lanes; ++l) {
      if (!((mask >> l) & 1))
        continue;
      U64 address = access.address[l];
      lock.hold(address);
      orderGlobal(w, i, l, address);
      if (!i.order &&
          !noteGlobalRead(w, i, l,
                          allocation ? *allocation : *memory.find(address),
                          address, access.bytes) &&
          uninitialized)
        poison |= Taint{1} << l;
    }
  }
  if (uninitialized && (!allocation || !allocation->unwritten.empty()))
    for (U32 l = 0; l < Lanes; ++l) {
      if (!((mask >> l) & 1))
        continue;
      Allocation *a = allocation ? allocation : memory.find(access.address[l]);
      if (a->unwritten.empty())
        continue;
      const uint8_t *state = &a->unwritten[access.address[l] - a->base];
      for (U32 b = 0; b < access.bytes; ++b)
        poison |= static_cast<Taint>(state[b]) << l;
    }
  taintAll(w, i, mask, poison);
}

void loadShared(Warp &w, const Inst &i, U32 mask, const Access &access) {
  SharedMemory &shared = w.block->shared;
  checkShared(w, i, mask, access.address, access.bytes, access.bytes, false);
  countShared(w, i, mask, access.address, access.bytes);
  Taint poison = 0;
  bool races = w.block->launch.options->races;
  for (U32 l = 0; l < Lanes; ++l) {
    if (!((mask >> l) & 1))
      continue;
    U32 at = static_cast<U32>(access.address[l]);
    if (races)
      shared.read(w, i, l, at, access.bytes, false);
    poison |= static_cast<Taint>(shared.poisoned(at, access.bytes)) << l;
  }
  const uint8_t *data = shared.data();
  putAll(w, i, mask, [&](U32 l) { return data + access.address[l]; });
  taintAll(w, i, mask, poison);
}

void loadLocal(Warp &w, const Inst &i, U32 mask, const Access &access) {
  checkLocal(w, i, mask, access);
  U32 size = w.program->localBytes;
  Taint poison = 0;
  for (U32 l = 0; l < Lanes; ++l)
    if ((mask >> l) & 1)
      for (U32 b = 0; b < access.bytes; ++b)
        poison |=
            static_cast<Taint>(w.localPoison[l * size + access.address[l] + b])
            << l;
  putAll(w, i, mask,
         [&](U32 l) { return w.local + l * size + access.address[l]; });
  taintAll(w, i, mask, poison);
}

void loadParam(Warp &w, const Inst &i, U32 mask, const Access &access) {
  const std::vector<uint8_t> &params = w.block->launch.params;
  for (U32 l = 0; l < Lanes; ++l)
    if (((mask >> l) & 1) && (access.bytes > params.size() ||
                              access.address[l] > params.size() - access.bytes))
      violate({Check::OutOfBounds, l, "reads beyond the kernel's parameters",
               access.address[l], "param", ""});
  putAll(w, i, mask, [&](U32 l) { return params.data() + access.address[l]; });
  taintAll(w, i, mask, 0);
}

// Copies element k of the lane's values to `to`.
void takeElement(Warp &w, const Inst &i, U32 row, U32 lane, uint8_t *to) {
  if (i.mode == 16) {
    std::memcpy(to, &w.row64(row)[lane], 8);
    std::memcpy(to + 8, &w.row64(row + 2)[lane], 8);
  } else if (i.mode == 8) {
    std::memcpy(to, &w.row64(row)[lane], i.bytes);
  } else {
    std::memcpy(to, &w.row32(row)[lane], i.bytes);
  }
}

struct Values {
  uint8_t data[Lanes][64];
  U32 poison = 0;
};

void takeAll(Warp &w, const Inst &i, U32 mask, Values &values) {
  for (U32 k = 0; k < i.count; ++k) {
    U32 row = i.op[1 + k];
    values.poison |= static_cast<U32>(w.taint[row]) & mask;
    for (U32 l = 0; l < Lanes; ++l)
      if ((mask >> l) & 1)
        takeElement(w, i, row, l, values.data[l] + k * i.bytes);
  }
}

void storeGlobal(Warp &w, const Inst &i, U32 mask, const Access &access,
                 const Values &values) {
  Allocation *allocation = checkGlobal(w, i, mask, access);
  if (U32 bad = values.poison & mask)
    violate({Check::Uninitialized, firstLane(bad),
             "stores an uninitialized value", access.address[firstLane(bad)],
             w.block->launch.memory->describe(access.address[firstLane(bad)]),
             ""});
  countGlobal(w, i, mask, access, allocation);
  GlobalMemory &memory = *w.block->launch.memory;
  bool conflicts = w.block->launch.options->conflicts != GlobalConflicts::Off;
  GlobalLock lock(memory);
  for (U32 l = 0; l < Lanes; ++l) {
    if (!((mask >> l) & 1))
      continue;
    Allocation *a = allocation ? allocation : memory.find(access.address[l]);
    auto *to = reinterpret_cast<uint8_t *>(access.address[l]);
    if (conflicts) {
      lock.hold(access.address[l]);
      noteGlobalWrite(w, i, l, *a, access.address[l], access.bytes,
                      i.order ? nullptr : to, values.data[l]);
      orderGlobal(w, i, l, access.address[l]);
    }
    if (w.block->launch.options->resident)
      w.block->launch.changes +=
          std::memcmp(to, values.data[l], access.bytes) != 0;
    std::memcpy(to, values.data[l], access.bytes);
    if (!a->unwritten.empty())
      std::memset(&a->unwritten[access.address[l] - a->base], 0, access.bytes);
  }
}

void storeShared(Warp &w, const Inst &i, U32 mask, const Access &access,
                 const Values &values) {
  SharedMemory &shared = w.block->shared;
  checkShared(w, i, mask, access.address, access.bytes, access.bytes, true);
  countShared(w, i, mask, access.address, access.bytes);
  bool races = w.block->launch.options->races;
  for (U32 l = 0; l < Lanes; ++l) {
    if (!((mask >> l) & 1))
      continue;
    U32 at = static_cast<U32>(access.address[l]);
    if (races)
      shared.write(w, i, l, at, access.bytes, values.data[l]);
    std::memcpy(shared.data() + at, values.data[l], access.bytes);
    shared.setPoison(at, access.bytes, (values.poison >> l) & 1);
  }
}

void storeLocal(Warp &w, const Inst &i, U32 mask, const Access &access,
                const Values &values) {
  checkLocal(w, i, mask, access);
  U32 size = w.program->localBytes;
  for (U32 l = 0; l < Lanes; ++l) {
    if (!((mask >> l) & 1))
      continue;
    U64 at = l * size + access.address[l];
    std::memcpy(w.local + at, values.data[l], access.bytes);
    std::memset(w.localPoison + at, (values.poison >> l) & 1, access.bytes);
  }
}

void storeOp(Warp &w, const Inst &i, U32 mask) {
  Access access;
  access.bytes = U32{i.count} * i.bytes;
  access.writes = true;
  addressesOf(w, i, mask, i.op[0], access);
  Values values;
  takeAll(w, i, mask, values);
  bySpace(i, mask, access, [&](MemSpace space, U32 part) {
    switch (space) {
    case MemSpace::Shared:
      return storeShared(w, i, part, access, values);
    case MemSpace::Local:
      return storeLocal(w, i, part, access, values);
    case MemSpace::Param:
    case MemSpace::Const:
      violate({Check::ReadOnly, firstLane(part),
               "writes to parameters or constants", 0, "", ""});
    default:
      return storeGlobal(w, i, part, access, values);
    }
  });
}

// Kernel parameters have the same value for all lanes. imm: the offset.
void loadParamOp(Warp &w, const Inst &i, U32 mask) {
  const uint8_t *from = w.block->launch.params.data() + i.imm;
  putAll(w, i, mask, [&](U32) { return from; });
  taintAll(w, i, mask, 0);
}

void prefetchOp(Warp &, const Inst &, U32) {}

// flag: set if the fence orders accesses of other blocks.
void fenceOp(Warp &w, const Inst &i, U32 mask) {
  (i.flag ? w.block->fenced : w.block->fencedInBlock) = true;
  for (U32 l = 0; l < Lanes; ++l)
    if ((mask >> l) & 1)
      w.known[l].fence(i.flag);
}

} // namespace

void loadOp(Warp &w, const Inst &i, U32 mask) {
  Access access;
  access.bytes = U32{i.count} * i.bytes;
  addressesOf(w, i, mask, i.op[i.count], access);
  bySpace(i, mask, access, [&](MemSpace space, U32 part) {
    switch (space) {
    case MemSpace::Shared:
      return loadShared(w, i, part, access);
    case MemSpace::Local:
      return loadLocal(w, i, part, access);
    case MemSpace::Param:
      return loadParam(w, i, part, access);
    default:
      return loadGlobal(w, i, part, access);
    }
  });
}

uint8_t orderOf(const Match &m) {
  bool acquires = m.has("acquire") || m.has("acq_rel");
  bool releases = m.has("release") || m.has("acq_rel");
  bool isAtomic = m.row->sem == Sem::Atomic || m.row->sem == Sem::Reduction;
  bool isStrong = isAtomic || acquires || releases || m.has("relaxed") ||
                  m.has("volatile") || m.has("mmio");
  return static_cast<uint8_t>(
      (acquires ? Acquires : 0) | (releases ? Releases : 0) |
      (m.has("cta") ? BlockScope : 0) | (isStrong ? Strong : 0));
}

Exec selectMemory(const Match &m, Inst &inst) {
  inst.order = orderOf(m);
  switch (inst.sem) {
  case Sem::Load:
    inst.nonCoherent = m.has("nc");
    return loadOp;
  case Sem::LoadParam:
    return loadParamOp;
  case Sem::Store:
    return storeOp;
  case Sem::Prefetch:
    return prefetchOp;
  case Sem::Fence:
    inst.flag = !m.has("cta");
    return fenceOp;
  default:
    return nullptr;
  }
}

} // namespace tessera::sim
