// autotune/search/Contest.h - selects the fastest of several configurations.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/search/Sample.h"
#include "autotune/search/TableEntry.h"

#include <optional>
#include <string>
#include <vector>

namespace tessera::tune {

// The state of one configuration.
struct Standing {
  const TuneChoice *use = nullptr;
  bool usable = false; // its results are correct
  bool known = false;  // timed by an earlier run; not timed again
  // All measurements, the latest last; empty if `known`.
  const std::vector<double> *seconds = nullptr;
  Sample sample; // of `seconds`, or of the earlier run
  bool timed = false;
};

// Successive halving. All configurations are timed alternately. The slower half
// is dropped, except for those within 8% of the best, and the rest is timed
// longer. Then the default configuration, the best, and those within 5% of it
// are timed alternately again, longer while the best and the second are close.
// Times with a spread above 20% are not accepted. The first configuration is
// the kernel's default. It is never dropped, and the
// fastest replaces it only if it is clearly faster (winsAgainst).
class Contest {
public:
  virtual ~Contest() = default;

  void run() {
    halve();
    compareFinalists();
    measureAgain();
  }
  // Returns the table entry. Returns nullopt while the default configuration
  // has no time, and if unsteady() is not empty.
  std::optional<TuneEntry> entry(const TuneKey &key) const;
  // Returns "the times of BM=64 vary by 34.0%, more than 20%, after 3 more
  // measurements" if the times of the chosen or the default configuration have
  // a spread above mostSpread, else an empty text.
  std::string unsteady() const;
  static constexpr double mostSpread = 0.2;

protected:
  virtual size_t size() const = 0;
  virtual Standing at(size_t i) const = 0;
  // Times these trials alternately, `rounds` times each.
  virtual void time(const std::vector<size_t> &which, int rounds) = 0;
  // Removes all measurements of these trials.
  virtual void forget(const std::vector<size_t> &which) = 0;
  // True if no time is left for measurements.
  virtual bool over() const = 0;
  // Returns a remark for the entry's reason: ", while the machine's speed
  // changed".
  virtual std::string remark() const { return ""; }

private:
  void halve();
  void compareFinalists();
  // Measures the chosen and the default configuration anew, at most three
  // times, while one of them is unsteady.
  void measureAgain();
  // Returns the chosen trial and the fastest; they differ if the fastest is not
  // clearly faster than the default configuration.
  struct Chosen {
    size_t trial, fastest;
  };
  Chosen chosen() const;
  // Returns the trial with the larger spread of the two that decide, if it is
  // too large.
  std::optional<size_t> unsteadyTrial() const;
  std::vector<size_t> timedOnes() const;
  std::vector<size_t> finalists() const;
  // True if configuration `i` is clearly faster than `rival`: the median of
  // (time of rival / time of i) over pairs of measurements, minus half of the
  // interquartile range, exceeds 1. If one of them has fewer than three
  // measurements in this run, the difference of the medians must exceed the
  // larger interquartile range of the two.
  bool winsAgainst(size_t rival, size_t i) const;
  std::string why(size_t timed, size_t best, bool wins) const;

  int measuredAgain = 0;
};

} // namespace tessera::tune
