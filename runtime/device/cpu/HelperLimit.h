// runtime/device/cpu/HelperLimit.h - decides how many threads of a pool help
// the thread that launches.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace tessera::runtime {

// The launching thread waits for the items that helpers have begun. If another
// process takes the core of a helper, that wait lasts a time slice of the
// system, which is longer than most launches. Then one helper sleeps for a
// pause. The pause doubles while this repeats, up to a second: a core that
// another process keeps busy is tried about once a second. After a quiet time
// of ten pauses the next loss costs the shortest pause again.
//
// Helpers save the time in which they compute. A short process that takes a
// core now and then costs less than a pause: losses count only beyond a quarter
// of the time that a helper saved recently, for all helpers wait with the
// launching thread. Times are nanoseconds of one clock that never runs
// backwards.
class HelperLimit {
public:
  static constexpr uint64_t shortestPause = 10'000'000,
                            longestPause = 1'000'000'000,
                            mostSaved = 100'000'000, lossFactor = 4;

  explicit HelperLimit(int helpers) : all(helpers), now(helpers) {}

  // Returns how many helpers may take items at this time.
  int allowed(uint64_t time) {
    if (now < all && time >= retry) {
      ++now;
      retry = time + pause;
      raised = time;
    }
    return now;
  }

  // Notes the time in which all helpers computed, and that in which one had no
  // core, since the last call.
  void helped(uint64_t time, uint64_t computed, uint64_t lost) {
    saved = std::min(saved + computed / uint64_t(all), mostSaved);
    if (lossFactor * lost <= saved) {
      saved -= lossFactor * lost;
      return;
    }
    saved = 0;
    lostCore(time);
  }

  // Notes that a helper is of no use now, because another process or the
  // launching thread has its core.
  void lostCore(uint64_t time) {
    if (now == 0)
      return;
    const bool repeated = pause && time - raised < 10 * pause;
    pause = repeated ? std::min(2 * pause, longestPause) : shortestPause;
    --now;
    raised = time;
    retry = time + pause;
  }

private:
  const int all;
  int now;
  uint64_t pause = 0, retry = 0, raised = 0, saved = 0;
};

} // namespace tessera::runtime
