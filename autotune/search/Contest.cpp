// autotune/search/Contest.cpp - selects the fastest of several configurations.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/Contest.h"

#include <algorithm>
#include <cstdio>

namespace tessera::tune {

namespace {

constexpr int firstRounds = 3, mostRounds = 12;
constexpr int lastRounds[] = {11, 22, 44};
constexpr int mostAgain = 3; // times that unsteady measurements are repeated
// Configurations this close to the fastest are timed again with it. The first
// rounds, with few times, use the larger limit.
constexpr double nearTie = 1.05, firstTie = 1.08;
constexpr size_t mostFinalists = 6;

std::string percent(double part) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f%%", part * 100);
  return text;
}

} // namespace

std::optional<TuneEntry> Contest::entry(const TuneKey &key) const {
  if (!at(0).timed || unsteadyTrial())
    return std::nullopt;
  const auto [trial, fastest] = chosen();
  std::vector<TimedChoice> choices;
  size_t place = 0; // of the chosen trial
  for (size_t i = 0; i < size(); ++i)
    if (at(i).usable && at(i).timed) {
      if (i == trial)
        place = choices.size();
      choices.push_back({*at(i).use, at(i).sample.median, at(i).sample.spread});
    }
  return entryOf(key, choices, place,
                 why(choices.size(), fastest, trial == fastest));
}

Contest::Chosen Contest::chosen() const {
  const std::vector<size_t> ranked = timedOnes();
  const size_t fastest = ranked.empty() ? 0 : ranked[0];
  return {fastest != 0 && winsAgainst(0, fastest) ? fastest : 0, fastest};
}

std::optional<size_t> Contest::unsteadyTrial() const {
  if (!at(0).timed)
    return std::nullopt;
  const size_t trial = chosen().trial;
  const size_t worse =
      at(trial).sample.spread > at(0).sample.spread ? trial : 0;
  if (at(worse).sample.spread <= mostSpread)
    return std::nullopt;
  return worse;
}

std::string Contest::unsteady() const {
  const auto trial = unsteadyTrial();
  if (!trial)
    return "";
  return "the times of " + describe(*at(*trial).use) + " vary by " +
         percent(at(*trial).sample.spread) + ", more than 20%, after " +
         std::to_string(measuredAgain) + " more measurements";
}

// Returns the timed trials, fastest first; ties keep the candidates' order.
std::vector<size_t> Contest::timedOnes() const {
  std::vector<size_t> list;
  for (size_t i = 0; i < size(); ++i)
    if (at(i).usable && at(i).timed)
      list.push_back(i);
  std::stable_sort(list.begin(), list.end(), [&](size_t a, size_t b) {
    return at(a).sample.median < at(b).sample.median;
  });
  return list;
}

// Compares the last measurements of both in pairs if each has at least three.
// The measurements of a pair come from the same round, so that a temporary
// slowdown of the machine affects both, unless one of the configurations was
// dropped or the deadline ended a round.
bool Contest::winsAgainst(size_t rival, size_t i) const {
  const Standing slow = at(rival), fast = at(i);
  if (const auto gain = turnGain(*slow.seconds, *fast.seconds))
    return gain->median * (1 - gain->spread / 2) > 1;
  const double apart = std::max(fast.sample.median * fast.sample.spread,
                                slow.sample.median * slow.sample.spread);
  return slow.sample.median - fast.sample.median > apart;
}

// Drops the slower half, but never the kernel's default configuration.
void Contest::halve() {
  std::vector<size_t> alive;
  for (size_t i = 0; i < size(); ++i)
    if (at(i).usable && !at(i).known)
      alive.push_back(i);
  for (int rounds = firstRounds; !alive.empty() && !over();
       rounds = std::min(2 * rounds, mostRounds)) {
    time(alive, rounds);
    std::erase_if(alive, [&](size_t i) { return !at(i).usable; });
    if (alive.size() <= 2)
      return;
    std::stable_sort(alive.begin(), alive.end(), [&](size_t a, size_t b) {
      return at(a).sample.median < at(b).sample.median;
    });
    const bool keepOwn =
        std::find(alive.begin(), alive.end(), 0) != alive.end();
    const size_t before = alive.size();
    const double close = firstTie * at(alive[0]).sample.median;
    const auto kept =
        size_t(std::count_if(alive.begin(), alive.end(), [&](size_t i) {
          return at(i).sample.median <= close;
        }));
    alive.resize(std::max((alive.size() + 1) / 2, kept));
    if (keepOwn && std::find(alive.begin(), alive.end(), 0) == alive.end())
      alive.push_back(0);
    // Only near ties remain, or two and the default configuration, which is
    // slower than both.
    if (alive.size() == before && rounds >= mostRounds)
      return;
    std::sort(alive.begin(), alive.end());
  }
}

// Returns the default configuration, the best, and those close to it, without
// configurations whose times are known.
std::vector<size_t> Contest::finalists() const {
  const std::vector<size_t> ranked = timedOnes();
  std::vector<size_t> list;
  for (size_t i : ranked)
    if (i == 0 || i == ranked[0] ||
        (at(i).sample.median <= nearTie * at(ranked[0]).sample.median &&
         list.size() < mostFinalists))
      list.push_back(i);
  std::erase_if(list, [&](size_t i) { return at(i).known; });
  std::sort(list.begin(), list.end());
  return list;
}

// Times the finalists until the first is clearly faster than the default
// configuration and the second.
void Contest::compareFinalists() {
  for (int rounds : lastRounds) {
    const std::vector<size_t> list = finalists();
    if (list.empty() || over())
      return;
    time(list, rounds);
    const std::vector<size_t> ranked = timedOnes();
    if (ranked.size() < 2 || (winsAgainst(ranked[1], ranked[0]) &&
                              (ranked[0] == 0 || winsAgainst(0, ranked[0]))))
      return;
  }
}

void Contest::measureAgain() {
  for (; measuredAgain < mostAgain && !over() && unsteadyTrial();
       ++measuredAgain) {
    std::vector<size_t> list = {0};
    if (const size_t trial = chosen().trial; trial != 0)
      list.push_back(trial);
    std::erase_if(list, [&](size_t i) { return at(i).known; });
    if (list.empty())
      return;
    forget(list);
    time(list, lastRounds[0]);
  }
}

std::string Contest::why(size_t timed, size_t best, bool wins) const {
  const std::string of =
      "of " + std::to_string(timed) + " timed candidates" + remark();
  if (timed == 1)
    return "the only candidate that was timed";
  if (best == 0)
    return "the kernel's default configuration is the fastest " + of;
  const double gain = at(0).sample.median / at(best).sample.median - 1;
  if (wins)
    return "the fastest " + of + ", " + percent(gain) +
           " faster than the kernel's default configuration";
  return "the kernel's default configuration; " + describe(*at(best).use) +
         " was " + percent(gain) + " faster, within the spread";
}

} // namespace tessera::tune
