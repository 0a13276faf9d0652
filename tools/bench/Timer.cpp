// tools/bench/Timer.cpp - measures the time of work on a device.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/Timer.h"

#include "runtime/device/cuda/DeviceMemory.h"
#include "runtime/device/cuda/Driver.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <chrono>

namespace tessera::bench {

namespace {

class CpuTimer : public Timer {
public:
  double seconds(const std::function<void()> &work) override {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         start)
        .count();
  }
};

class CudaTimer : public Timer {
public:
  explicit CudaTimer(int ordinal)
      : driver(runtime::cuda::Driver::instance(ordinal)), flush(driver),
        ordinal(ordinal) {
    driver.use();
    for (runtime::cuda::Event *event : {&before, &after})
      driver.check(driver.api().EventCreate(event, 0), "making an event");
  }
  ~CudaTimer() override {
    for (runtime::cuda::Event event : {before, after})
      driver.api().EventDestroy(event);
  }

  double seconds(const std::function<void()> &work) override {
    const c10::Device device(c10::kCUDA, c10::DeviceIndex(ordinal));
    auto *const stream = static_cast<runtime::cuda::Stream>(
        c10::impl::VirtualGuardImpl(c10::kCUDA)
            .getStream(device)
            .native_handle());
    driver.use();
    flush.start();
    driver.check(driver.api().StreamSynchronize(nullptr), "clearing the cache");
    record(before, stream);
    work();
    driver.use();
    record(after, stream);
    float passed = 0;
    driver.check(driver.api().EventSynchronize(after), "running kernels");
    driver.check(driver.api().EventElapsedTime(&passed, before, after),
                 "timing kernels");
    return double(passed) * 1e-3;
  }

private:
  void record(runtime::cuda::Event event, runtime::cuda::Stream stream) const {
    driver.check(driver.api().EventRecord(event, stream), "timing kernels");
  }

  const runtime::cuda::Driver &driver;
  const runtime::cuda::CacheFlush flush;
  const int ordinal;
  runtime::cuda::Event before = nullptr, after = nullptr;
};

} // namespace

std::unique_ptr<Timer> Timer::of(const BenchDevice &device) {
  if (device.kind == BenchDevice::Kind::Cuda)
    return std::make_unique<CudaTimer>(device.ordinal);
  return std::make_unique<CpuTimer>();
}

} // namespace tessera::bench
