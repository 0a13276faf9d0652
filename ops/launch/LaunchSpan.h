// ops/launch/LaunchSpan.h - the profiler range of a launch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/launch/ListLaunches.h"

#include <ATen/record_function.h>

#include <string>
#include <string_view>
#include <vector>

namespace tessera::runtime {

// A profiler range for a launch, which the trainer's traces use, too. While it
// lives, the range "kernel NAME" is open; its output is the index of the launch
// in listed_launches(). Without a listener it costs one check.
class LaunchSpan {
public:
  explicit LaunchSpan(std::string_view kernel) {
    if (!span.isActive()) [[likely]]
      return;
    LaunchListing::forgetLast();
    span.before("kernel " + std::string(kernel));
  }
  LaunchSpan(const LaunchSpan &) = delete;
  LaunchSpan &operator=(const LaunchSpan &) = delete;
  ~LaunchSpan() {
    if (span.isActive() && span.needsOutputs()) [[unlikely]]
      span.setOutputs(std::vector{c10::IValue(LaunchListing::last())});
  }

private:
  at::RecordFunction span{at::RecordScope::USER_SCOPE};
};

} // namespace tessera::runtime
