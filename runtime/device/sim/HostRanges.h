// runtime/device/sim/HostRanges.h - host memory that a simulated launch may
// touch. Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/sim/Sim.h"

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

// Ranges that overlap become one, named after all of them ("Q/K"): views of one
// storage. What lies between two views of a storage stays outside.
sim::Memory simMemory(std::vector<HostRange> ranges);

} // namespace tessera::runtime
