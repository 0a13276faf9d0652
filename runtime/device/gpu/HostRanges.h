// runtime/device/gpu/HostRanges.h - host memory that the arguments of a launch
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

// The mapping of this process that holds the address; none where nothing
// readable is mapped.
std::optional<HostRange> mappingOf(const void *address);

// Sorted, without empty ones. Ranges that overlap become one, named after all
// of them ("Q/K"): views of one storage. What lies between two views of a
// storage stays outside.
std::vector<HostRange> mergedRanges(std::vector<HostRange> ranges);

} // namespace tessera::runtime
