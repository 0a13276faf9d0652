// runtime/device/cuda/TimingEvent.h - CUDA events that time launches.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/device/cuda/Driver.h"

namespace tessera::runtime::cuda {

// A CUDA event on the default stream. All methods throw Error with the driver's
// message.
class TimingEvent {
public:
  explicit TimingEvent(const Driver &driver) : driver(driver) {
    driver.check(driver.api().EventCreate(&event, 0), "making an event");
  }
  TimingEvent(const TimingEvent &) = delete;
  ~TimingEvent() { driver.api().EventDestroy(event); }

  void record() const {
    driver.check(driver.api().EventRecord(event, nullptr), "timing a launch");
  }
  // Waits for this event. Returns the milliseconds since `start`.
  double millisecondsSince(const TimingEvent &start) const {
    float passed = 0;
    driver.check(driver.api().EventSynchronize(event), "running a kernel");
    driver.check(driver.api().EventElapsedTime(&passed, start.event, event),
                 "timing a launch");
    return double(passed);
  }

private:
  const Driver &driver;
  Event event = nullptr;
};

} // namespace tessera::runtime::cuda
