// runtime/device/cuda/DeviceMemory.cpp - memory of a GPU that mirrors the
// host's.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/DeviceMemory.h"

#include "support/Error.h"

#include <algorithm>

namespace tessera::runtime::cuda {

namespace {
// Finite in every float type. Replay's guarded host buffers use it, too.
constexpr char pattern = 0x2d;
constexpr int attributeL2Bytes = 38; // CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE
} // namespace

DeviceRange::DeviceRange(const Driver &driver, const HostRange &host)
    : driver(driver), host(host) {
  before = zoneBytes + reinterpret_cast<uintptr_t>(host.begin) % 256;
  driver.check(driver.api().MemAlloc(&base, before + host.bytes + zoneBytes),
               "allocating " + std::to_string(host.bytes) + " bytes for " +
                   host.name);
  begin = base + before;
}

DeviceRange::~DeviceRange() { driver.api().MemFree(base); }

void DeviceRange::fill(const std::string &bytes) const {
  std::string all(before + host.bytes + zoneBytes, pattern);
  std::copy(bytes.begin(), bytes.end(), all.begin() + long(before));
  driver.check(driver.api().MemcpyHtoD(base, all.data(), all.size()),
               "copying " + host.name + " to the GPU");
}

void DeviceRange::fetch() const {
  driver.check(driver.api().MemcpyDtoH(host.begin, begin, host.bytes),
               "copying " + host.name + " from the GPU");
}

std::string DeviceRange::deviceBytes() const {
  std::string bytes(host.bytes, '\0');
  driver.check(driver.api().MemcpyDtoH(bytes.data(), begin, host.bytes),
               "copying " + host.name + " from the GPU");
  return bytes;
}

std::string DeviceRange::damage() const {
  std::string zone(before, '\0');
  driver.check(driver.api().MemcpyDtoH(zone.data(), base, before),
               "looking at the memory before " + host.name);
  for (size_t i = before; i-- > 0;)
    if (zone[i] != pattern)
      return "`" + host.name + "`: wrote " + std::to_string(before - i) +
             " bytes before its beginning";
  zone.resize(zoneBytes);
  driver.check(
      driver.api().MemcpyDtoH(zone.data(), begin + host.bytes, zoneBytes),
      "looking at the memory after " + host.name);
  for (size_t i = 0; i < zoneBytes; ++i)
    if (zone[i] != pattern)
      return "`" + host.name + "`: wrote " + std::to_string(i) +
             " bytes past its end";
  return {};
}

CacheFlush::CacheFlush(const Driver &driver) : driver(driver) {
  bytes = std::max<size_t>(size_t(driver.attribute(attributeL2Bytes)), 16 << 20)
          << 1;
  driver.check(driver.api().MemAlloc(&address, bytes),
               "allocating memory to clear the cache with");
}

CacheFlush::~CacheFlush() { driver.api().MemFree(address); }

void CacheFlush::start() const {
  driver.check(driver.api().MemsetD8Async(address, 0, bytes, nullptr),
               "clearing the cache");
}

} // namespace tessera::runtime::cuda
