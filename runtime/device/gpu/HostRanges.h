// runtime/device/gpu/HostRanges.h - host memory that a launch's arguments
// cover.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace tessera::runtime {

struct HostRange {
  std::string name;
  char *begin = nullptr;
  size_t bytes = 0;
  bool writable = true;
};

// Returns the mapping of this process that contains the address, or nullopt if
// no readable mapping does.
std::optional<HostRange> mappingOf(const void *address);

// Sorts the ranges and removes empty ones. Merges overlapping ranges (views of
// one storage) into one, named after all of them ("Q/K"). Memory between two
// views remains outside of the result.
std::vector<HostRange> mergedRanges(std::vector<HostRange> ranges);

} // namespace tessera::runtime
