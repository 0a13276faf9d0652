// autotune/search/Contest.h - which of several configurations is the fastest.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/search/Sample.h"
#include "autotune/search/TableEntry.h"

#include <optional>
#include <string>
#include <vector>

namespace tessera::tune {

// What is known of one configuration.
struct Standing {
  const TuneChoice *use = nullptr;
  bool usable = false; // its results are right
  bool known = false;  // from an earlier run: it is not timed again
  // All measurements, the latest last; empty where it is known.
  const std::vector<double> *seconds = nullptr;
  Sample sample; // of `seconds`, or what was known
  bool timed = false;
};

// Successive halving: all are timed in turns, the slower half is dropped, less
// what lies within 8% of the best, and the rest timed longer; then the first
// configuration, the best, and what lies within 5% of it are timed in turns
// again, longer while the best is not clear of the next.
// The first one is the kernel's own choice, which is never dropped and yields
// only to what was faster in three turns of four.
class Contest {
public:
  virtual ~Contest() = default;

  void run() {
    halve();
    compareFinalists();
  }
  // None while the kernel's own choice has no time.
  std::optional<TuneEntry> entry(const TuneKey &key) const;

protected:
  virtual size_t size() const = 0;
  virtual Standing at(size_t i) const = 0;
  // Times these in turns, so many times each.
  virtual void time(const std::vector<size_t> &which, int rounds) = 0;
  // Nothing may be timed any more.
  virtual bool over() const = 0;
  // For the line that says why: ", on a machine whose speed changed meanwhile".
  virtual std::string remark() const { return ""; }

private:
  void halve();
  void compareFinalists();
  std::vector<size_t> timedOnes() const;
  std::vector<size_t> finalists() const;
  bool winsAgainst(size_t rival, size_t i) const;
  std::string why(size_t timed, size_t best, bool wins) const;
};

} // namespace tessera::tune
