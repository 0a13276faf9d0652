// autotune/search/Isolated.h - work in a process that it may break.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Json.h"

#include <atomic>
#include <functional>
#include <string>

namespace tessera::tune {

struct Ended {
  enum class How { Done, Failed, Crashed, Endless, Interrupted };
  How how = How::Done;
  std::string text; // of all but Done: "signal 11 (Segmentation fault)"
};

// Forks; the child calls `body`, and each object that it reports arrives here
// as a call of `event`. Ended: Done when the body returned; Failed when it
// threw Error; Crashed when the process died; Endless, with the child killed,
// when nothing arrived for `limit()` seconds (asked anew after every event);
// Interrupted, likewise, when the flag was set. The child ends with this
// process. To be called while there is one thread. Throws Error where no
// process can be started.
Ended runIsolated(
    const std::function<void(const std::function<void(const Json &)> &report)>
        &body,
    const std::function<void(const Json &)> &event,
    const std::function<double()> &limit, const std::atomic<bool> &interrupted);

} // namespace tessera::tune
