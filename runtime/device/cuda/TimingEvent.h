// runtime/device/cuda/TimingEvent.h - a point in time of a GPU's stream.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/device/cuda/Driver.h"

namespace tessera::runtime::cuda {

// On the default stream. All throw Error with the driver's words.
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
  // Waits until the stream has come to this point.
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
