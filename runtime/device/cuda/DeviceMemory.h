// runtime/device/cuda/DeviceMemory.h - memory of a GPU that mirrors the host's.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/device/cuda/Driver.h"
#include "runtime/device/gpu/HostRanges.h"

#include <string>

namespace tessera::runtime::cuda {

// A piece of the GPU's memory as large as a range of the host's, at the same
// offset from a 256-byte boundary (alignments are kept), between two zones of a
// known pattern.
class DeviceRange {
public:
  static constexpr size_t zoneBytes = 64 << 10;

  // Throws Error when the GPU's memory is full.
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

  // Copies the host's bytes to the GPU and restores the zones. Throws Error.
  void fill(const std::string &bytes) const;
  // The host's bytes as they are now.
  std::string hostBytes() const { return {host.begin, host.bytes}; }
  void fetch() const; // into the host's memory
  std::string deviceBytes() const;
  // Empty, or where a kernel wrote beside the range: "`Q`: wrote 8 bytes
  // behind its end".
  std::string damage() const;

private:
  const Driver &driver;
  HostRange host;
  Address base = 0, begin = 0;
  size_t before = 0; // bytes of the first zone, which ends at `begin`
};

// A range that is overwritten between timed launches, so that none finds its
// data in the L2 cache. Twice as large as that.
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
