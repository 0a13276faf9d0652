// runtime/device/gpu/HostRanges.cpp - host memory that the arguments of a
// launch cover.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/gpu/HostRanges.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>

namespace tessera::runtime {

std::optional<HostRange> mappingOf(const void *address) {
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  std::ifstream maps("/proc/self/maps");
  std::string line;
  while (std::getline(maps, line)) {
    unsigned long begin = 0, end = 0;
    char read = 0, write = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %c%c", &begin, &end, &read,
                    &write) != 4 ||
        wanted < begin || wanted >= end)
      continue;
    if (read != 'r')
      return std::nullopt;
    HostRange range;
    range.begin = reinterpret_cast<char *>(uintptr_t(begin));
    range.bytes = end - begin;
    range.writable = write == 'w';
    return range;
  }
  return std::nullopt;
}

std::vector<HostRange> mergedRanges(std::vector<HostRange> ranges) {
  std::erase_if(ranges, [](const HostRange &range) { return !range.bytes; });
  std::stable_sort(
      ranges.begin(), ranges.end(),
      [](const HostRange &a, const HostRange &b) { return a.begin < b.begin; });
  std::vector<HostRange> merged;
  for (HostRange &range : ranges) {
    if (merged.empty() ||
        range.begin >= merged.back().begin + merged.back().bytes) {
      merged.push_back(std::move(range));
      continue;
    }
    HostRange &last = merged.back();
    last.bytes =
        std::max(last.bytes, size_t(range.begin - last.begin) + range.bytes);
    last.writable |= range.writable;
    last.name += "/" + range.name;
  }
  return merged;
}

} // namespace tessera::runtime
