// runtime/device/cuda/DeviceMemory.h - GPU memory that mirrors host memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/device/cuda/Driver.h"
#include "runtime/device/gpu/HostRanges.h"

#include <string>

namespace tessera::runtime::cuda {

// GPU memory that mirrors a range of host memory. It has the same size and the
// same offset from a 256-byte boundary, which preserves alignment. A zone with
// a known pattern precedes it and another follows it.
class DeviceRange {
public:
  static constexpr size_t zoneBytes = 64 << 10;

  // Throws Error if GPU memory is exhausted.
  DeviceRange(const Driver &driver, const HostRange &host);
  DeviceRange(const DeviceRange &) = delete;
  ~DeviceRange();

  bool holds(const void *address) const {
    return address >= host.begin && address < host.begin + host.bytes;
  }
  Address addressOf(const void *address) const {
    return begin + Address(static_cast<const char *>(address) - host.begin);
  }
  const std::string &name() const { return host.name; }

  // Copies `bytes` to the GPU and restores the zones. Throws Error.
  void fill(const std::string &bytes) const;
  // Returns the current bytes of the host's range.
  std::string hostBytes() const { return {host.begin, host.bytes}; }
  void fetch() const; // copies GPU memory to the host
  std::string deviceBytes() const;
  // Returns where a kernel wrote outside of the range: "`Q`: wrote 8 bytes
  // past its end". Returns an empty string if it did not.
  std::string damage() const;

private:
  const Driver &driver;
  HostRange host;
  Address base = 0, begin = 0;
  size_t before = 0; // bytes of the first zone, which ends at `begin`
};

// A range twice as large as the L2 cache. Overwriting it between timed launches
// evicts their data from the cache.
class CacheFlush {
public:
  explicit CacheFlush(const Driver &driver);
  CacheFlush(const CacheFlush &) = delete;
  ~CacheFlush();
  void start() const; // on the default stream; does not wait

private:
  const Driver &driver;
  Address address = 0;
  size_t bytes = 0;
};

} // namespace tessera::runtime::cuda
