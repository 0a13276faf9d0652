// autotune/Contest.cpp - which of several configurations is the fastest.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/Contest.h"

#include <algorithm>
#include <cstdio>

namespace tessera::tune {

namespace {

constexpr int firstRounds = 3, mostRounds = 12, lastRounds = 11,
              moreRounds = 22;
// What is this close to the fastest is timed again with it.
constexpr double nearTie = 1.05;
constexpr size_t mostFinalists = 4;

std::string percent(double part) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f%%", part * 100);
  return text;
}

} // namespace

std::optional<TuneEntry> Contest::entry(const TuneKey &key) const {
  if (!at(0).timed)
    return std::nullopt;
  std::vector<TimedChoice> choices;
  std::vector<size_t> numbers; // of the trials
  for (size_t i = 0; i < size(); ++i)
    if (at(i).usable && at(i).timed) {
      numbers.push_back(i);
      choices.push_back({*at(i).use, at(i).sample.median, at(i).sample.spread});
    }
  const size_t best = fastestOf(choices);
  const bool wins = best != 0 && winsAgainstOwn(numbers[best]);
  return entryOf(key, choices, wins ? best : 0,
                 why(choices.size(), numbers[best], wins));
}

// Fastest first; of equal ones the earlier candidate.
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

// Turn by turn where both were timed in turns: what slows the machine for a
// while slows both.
bool Contest::winsAgainstOwn(size_t i) const {
  const Standing own = at(0), other = at(i);
  if (const auto gain = turnGain(*own.seconds, *other.seconds))
    return gain->median * (1 - gain->spread / 2) > 1;
  const double apart = std::max(other.sample.median * other.sample.spread,
                                own.sample.median * own.sample.spread);
  return own.sample.median - other.sample.median > apart;
}

// The kernel's own choice is never dropped.
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
    alive.resize((alive.size() + 1) / 2);
    if (keepOwn && std::find(alive.begin(), alive.end(), 0) == alive.end())
      alive.push_back(0);
    // Two and the own choice, which is slower than both.
    if (alive.size() == before)
      return;
    std::sort(alive.begin(), alive.end());
  }
}

// The kernel's own choice, the best, and what is close to it; less what is
// known already.
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

void Contest::compareFinalists() {
  for (int rounds : {lastRounds, moreRounds}) {
    const std::vector<size_t> list = finalists();
    if (list.empty() || over())
      return;
    time(list, rounds);
    const std::vector<size_t> ranked = timedOnes();
    if (ranked.empty() || ranked[0] == 0 || winsAgainstOwn(ranked[0]))
      return;
  }
}

std::string Contest::why(size_t timed, size_t best, bool wins) const {
  const std::string of =
      "of " + std::to_string(timed) + " timed candidates" + remark();
  if (timed == 1)
    return "the only candidate that was timed";
  if (best == 0)
    return "the kernel's own choice is the fastest " + of;
  const double gain = at(0).sample.median / at(best).sample.median - 1;
  if (wins)
    return "the fastest " + of + ", " + percent(gain) +
           " faster than the kernel's own choice";
  return "the kernel's own choice; " + describe(*at(best).use) + " was " +
         percent(gain) + " faster, within the spread";
}

} // namespace tessera::tune
