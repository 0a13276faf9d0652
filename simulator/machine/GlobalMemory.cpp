// simulator/machine/GlobalMemory.cpp - host tensors as global memory with known
// bounds.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/GlobalMemory.h"

#include "support/Error.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdio>

namespace tessera::sim {
std::string hex(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof(text), "0x%llx",
                static_cast<unsigned long long>(value));
  return text;
}

template <class Cell>
Cell *GlobalMemory::Shadow<Cell>::at(uint64_t granule) {
  std::atomic<Page *> &slot = pages[granule / PageGranules];
  Page *page = slot.load(std::memory_order_acquire);
  if (!page) {
    auto fresh = std::make_unique<Page>();
    if (slot.compare_exchange_strong(page, fresh.get()))
      page = fresh.release();
  }
  return &(*page)[granule % PageGranules];
}

GlobalMemory::GlobalMemory(const Memory &memory, uint32_t granule)
    : shift(static_cast<uint32_t>(std::countr_zero(granule))) {
  assert(std::has_single_bit(granule) && "granules are powers of two");
  for (const Memory::Range &range : memory.ranges) {
    if (range.bytes == 0)
      continue;
    Allocation a;
    a.name = range.name;
    a.base = reinterpret_cast<uint64_t>(range.address);
    a.end = a.base + range.bytes;
    a.writable = range.writable;
    a.atomics = range.atomics;
    if (!range.initialized)
      a.unwritten.assign(range.bytes, 1);
    add(std::move(a));
  }
}

void GlobalMemory::add(Allocation allocation) {
  assert(allocation.base < allocation.end && "an allocation without bytes");
  ranges.push_back(std::move(allocation));
}

void GlobalMemory::finish() {
  std::stable_sort(
      ranges.begin(), ranges.end(),
      [](const Allocation &a, const Allocation &b) { return a.base < b.base; });
  // The caller may pass the same tensor twice. Equal ranges are merged, and the
  // result is writable if one of them is.
  std::vector<Allocation> kept;
  for (Allocation &a : ranges) {
    if (!kept.empty() && a.base < kept.back().end) {
      Allocation &last = kept.back();
      bool inside = a.end <= last.end;
      if (!inside)
        throw Error("memory ranges " + last.name + " and " + a.name +
                        " overlap",
                    "list each tensor's storage once");
      last.writable |= a.writable;
      last.atomics |= a.atomics;
      if (last.name.find(a.name) == std::string::npos)
        last.name += "/" + a.name;
      continue;
    }
    kept.push_back(std::move(a));
  }
  ranges = std::move(kept);
  for (uint32_t i = 0; i < ranges.size(); ++i) {
    ranges[i].index = i;
    uint64_t granules = ((ranges[i].end - ranges[i].base) >> shift) + 2;
    uint64_t pages = (granules + PageGranules - 1) / PageGranules;
    writerCells.push_back(std::make_unique<Shadow<GlobalWriter>>(pages));
    earlierCells.push_back(std::make_unique<Shadow<GlobalWriter>>(pages));
    readerCells.push_back(std::make_unique<Shadow<GlobalReaders>>(pages));
  }
}

Allocation *GlobalMemory::find(uint64_t address) {
  auto after = std::upper_bound(
      ranges.begin(), ranges.end(), address,
      [](uint64_t value, const Allocation &a) { return value < a.base; });
  if (after == ranges.begin())
    return nullptr;
  Allocation &a = *std::prev(after);
  return address < a.end ? &a : nullptr;
}

std::string GlobalMemory::describe(uint64_t address) const {
  const Allocation *nearest = nullptr;
  uint64_t distance = ~uint64_t{0};
  for (const Allocation &a : ranges) {
    uint64_t d = address < a.base   ? a.base - address
                 : address >= a.end ? address - a.end + 1
                                    : 0;
    if (d < distance) {
      distance = d;
      nearest = &a;
    }
  }
  if (!nearest)
    return hex(address) + ", no memory is listed";
  std::string size = std::to_string(nearest->end - nearest->base) + " bytes";
  if (address < nearest->base)
    return std::to_string(nearest->base - address) + " bytes before " +
           nearest->name + " (" + size + ")";
  std::string offset =
      nearest->name + " + " + std::to_string(address - nearest->base);
  return address < nearest->end
             ? offset + " (of " + size + ")"
             : offset + ", " + std::to_string(address - nearest->end + 1) +
                   " beyond the last of its " + size;
}

GlobalWriter *GlobalMemory::writers(const Allocation &a, uint64_t address) {
  return writerCells[a.index]->at(granuleOf(a, address));
}

GlobalWriter *GlobalMemory::earlierWriters(const Allocation &a,
                                           uint64_t address) {
  return earlierCells[a.index]->at(granuleOf(a, address));
}

GlobalReaders *GlobalMemory::readers(const Allocation &a, uint64_t address) {
  return readerCells[a.index]->at(granuleOf(a, address));
}

} // namespace tessera::sim
