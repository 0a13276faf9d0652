// replay/Compare.h - compares a produced tensor with the recorded one.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "replay/Case.h"

#include <string>
#include <string_view>

namespace tessera::cases {

// Packed elements of one type.
struct Elements {
  DType type = DType::FP32;
  std::string_view bytes;

  int64_t count() const { return int64_t(bytes.size() / elementBytes(type)); }
  const char *at(int64_t i) const {
    return bytes.data() + size_t(i) * elementBytes(type);
  }
  double value(int64_t i) const { return elementValue(type, at(i)); }
};

struct Comparison {
  bool ok = true;
  double maxAbs = 0; // largest |produced - recorded| of finite pairs
  // sqrt(sum |produced - recorded|^2 / sum |recorded|^2) over finite pairs. If
  // all recorded values are 0, the root mean square difference.
  double rms = 0;
  double limit = 0;      // of rms; 0 if every element must be equal
  int64_t first = -1;    // position of the first significant difference
  int64_t differing = 0; // positions that differ too much (or at all)
  std::string problem;   // why the comparison failed, for readers
};

// All comparisons take equal numbers of elements of one type.

// Requires every element to be equal (elementsEqual()).
Comparison compareExact(const Elements &got, const Elements &want);

// Requires rms <= limit, NaN at the same positions and the same infinities. In
// addition bounds each difference d: |d| <= 10 limit (r + |w|), with w the
// recorded value and r the root mean square of all recorded values; and |d| <=
// max(limit (r + |w|), 50 times the root mean square of the other differences).
// One wrong value hardly changes the RMS of a large tensor; the last rule
// detects it.
Comparison compareRms(const Elements &got, const Elements &want, double limit);

// Requires the same values in any order: equal integers; for floats,
// compareRms() of the sorted values.
Comparison compareUnordered(const Elements &got, const Elements &want,
                            double limit);

// The scores that define near ties.
struct Scores {
  Elements values; // row-major
  std::vector<int64_t> shape;
  double limit = 0; // of a relative difference
};

// Requires equal indices, or indices whose scores differ by at most limit (|s|
// + r), with r the root mean square of the finite scores. `shape` is that of
// the index tensor: each row of the scores has one index, or k indices in the
// last dimension. If both rows ascend, compares them as sets. An index may only
// be repeated if the recording repeats it. An index outside of the scores (-1)
// must be equal.
Comparison compareTies(const Elements &got, const Elements &want,
                       const std::vector<int64_t> &shape, const Scores &scores);

// Returns the limit of compareRms() for an argument of a case: that of the
// narrowest float type involved (docs/cases.md), according to the kernel's
// text. `tf32Default`: fp32 dots without an explicit precision use tf32.
double rmsLimit(const Case &recorded, const CaseArgument &argument,
                const std::string &kernelText, bool tf32Default = false);
// True if the kernel's text specifies the precision of its dots.
bool namesInputPrecision(const std::string &kernelText);

} // namespace tessera::cases
