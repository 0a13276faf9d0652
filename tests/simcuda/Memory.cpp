// tests/simcuda/Memory.cpp - memory of the simulated driver: this process's.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/simcuda/SimCuda.h"

#include <cstdlib>
#include <cstring>

using namespace simcuda;

namespace {

int release(Gpu &gpu, char *memory) {
  gpu.allocations.erase(memory);
  std::free(memory);
  return 0;
}

int allocate(Address *address, size_t bytes) {
  if (!current())
    return invalidContext;
  if (current()->fault)
    return current()->fault;
  char *memory =
      static_cast<char *>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  if (!memory)
    return outOfMemory;
  current()->allocations[memory] = bytes;
  *address = reinterpret_cast<Address>(memory);
  return 0;
}

// The GPU whose memory holds the address; null: none.
Gpu *ownerOf(const char *address) {
  for (Gpu *gpu : gpus()) {
    const auto next = gpu->allocations.upper_bound(const_cast<char *>(address));
    if (next == gpu->allocations.begin())
      continue;
    const auto &[begin, bytes] = *std::prev(next);
    if (address < begin + bytes)
      return gpu;
  }
  return nullptr;
}

// Copies at once, after the work of the default stream.
int copyNow(void *to, const void *from, size_t bytes) {
  if (!current())
    return invalidContext;
  if (const int fault = drain(current()->defaultStream))
    return fault;
  if (!is("idle"))
    std::memcpy(to, from, bytes);
  return 0;
}

int copyOn(void *stream, void *to, const void *from, size_t bytes) {
  if (!current())
    return invalidContext;
  if (is("idle"))
    return 0;
  return submit(current()->of(stream), [=] {
    std::memcpy(to, from, bytes);
    return 0;
  });
}

} // namespace

EXPORT int cuMemAlloc_v2(Address *address, size_t bytes) {
  const Call call("cuMemAlloc", false);
  return call.result ? call.result : allocate(address, bytes);
}
EXPORT int cuMemAllocAsync(Address *address, size_t bytes, void *) {
  const Call call("cuMemAllocAsync");
  return call.result ? call.result : allocate(address, bytes);
}
EXPORT int cuMemFree_v2(Address address) {
  const Call call("cuMemFree", false);
  Gpu *gpu = ownerOf(addressOf(address));
  if (!gpu)
    return address ? invalidValue : 0;
  const int fault = drainAll(*gpu);
  release(*gpu, addressOf(address));
  return fault;
}
EXPORT int cuMemFreeAsync(Address address, void *stream) {
  const Call call("cuMemFreeAsync");
  Gpu *gpu = ownerOf(addressOf(address));
  if (!gpu)
    return address ? invalidValue : 0;
  return submit(gpu->of(stream),
                [=] { return release(*gpu, addressOf(address)); });
}
EXPORT int cuMemcpyHtoD_v2(Address to, const void *from, size_t bytes) {
  const Call call("cuMemcpyHtoD", false);
  return call.result ? call.result : copyNow(addressOf(to), from, bytes);
}
EXPORT int cuMemcpyDtoH_v2(void *to, Address from, size_t bytes) {
  const Call call("cuMemcpyDtoH", false);
  return call.result ? call.result : copyNow(to, addressOf(from), bytes);
}
EXPORT int cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t bytes,
                                void *stream) {
  const Call call("cuMemcpyHtoD");
  return call.result ? call.result : copyOn(stream, addressOf(to), from, bytes);
}
EXPORT int cuMemcpyDtoHAsync_v2(void *to, Address from, size_t bytes,
                                void *stream) {
  const Call call("cuMemcpyDtoH");
  if (is("idle"))
    std::memset(to, 0, bytes);
  return call.result ? call.result : copyOn(stream, to, addressOf(from), bytes);
}
EXPORT int cuMemsetD8Async(Address address, unsigned char value, size_t bytes,
                           void *stream) {
  const Call call("cuMemsetD8Async");
  if (call.result || !current() || is("idle"))
    return call.result ? call.result : current() ? 0 : invalidContext;
  return submit(current()->of(stream), [=] {
    std::memset(addressOf(address), value, bytes);
    return 0;
  });
}
