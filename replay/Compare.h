// replay/Compare.h - whether a produced tensor is the recorded one.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "replay/Case.h"

#include <string>
#include <string_view>

namespace tessera::cases {

// Elements of one type, packed.
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
  // sqrt(sum |produced - recorded|^2 / sum |recorded|^2) over finite pairs;
  // where the recorded values are all 0, the root mean square difference.
  double rms = 0;
  double limit = 0;      // of rms; 0 where every element must be equal
  int64_t first = -1;    // position of the first difference that counts
  int64_t differing = 0; // positions that differ too much (or at all)
  std::string problem;   // why not ok, for people
};

// All take equal numbers of elements of one type.

// Every element equal: elementsEqual().
Comparison compareExact(const Elements &got, const Elements &want);

// rms <= limit; NaN exactly where there is NaN, the same infinities; and no
// single element far off: |d| <= 10 limit (r + |w|) everywhere, with w the
// recorded value and r the root mean square of all of them, and also
// |d| <= max(limit (r + |w|), 50 times the root mean square of the other
// differences). One altered value is small beside the sum of a large tensor;
// the last rule finds it.
Comparison compareRms(const Elements &got, const Elements &want, double limit);

// The same values in any order: equal ones for integers, compareRms() of the
// sorted values for floats.
Comparison compareUnordered(const Elements &got, const Elements &want,
                            double limit);

// What decides a near tie.
struct Scores {
  Elements values; // row-major
  std::vector<int64_t> shape;
  double limit = 0; // of a relative difference
};

// Equal indices, or others whose scores differ by at most
// limit (|s| + r), r the root mean square of the finite scores. `shape` is
// that of the index tensor: one index, or a last dimension of k of them, for
// each row of the scores. Where both rows ascend they are compared as sets.
// No index may come twice unless it does in the recording; one outside of
// the scores (-1) must be equal.
Comparison compareTies(const Elements &got, const Elements &want,
                       const std::vector<int64_t> &shape, const Scores &scores);

// The limit of compareRms() for an argument of a case: by the narrowest float
// type that takes part (docs/cases.md), from the kernel's text. `tf32Default`:
// fp32 dots that name no precision are of tf32.
double rmsLimit(const Case &recorded, const CaseArgument &argument,
                const std::string &kernelText, bool tf32Default = false);
// The kernel says itself how precise its dots are.
bool namesInputPrecision(const std::string &kernelText);

} // namespace tessera::cases
