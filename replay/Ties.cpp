// replay/Ties.cpp - compares indices that may differ if scores nearly tie.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "replay/Compare.h"

#include "support/Error.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tessera::cases {

namespace {

// Maps each row of indices to its scores.
struct Rows {
  int64_t rows = 0, perRow = 1; // of the index tensor
  int64_t choices = 0;          // scores of a row
  int64_t inner = 1;            // number of interleaved rows
  int64_t offset(int64_t row, int64_t choice) const {
    return (row / inner * choices + choice) * inner + row % inner;
  }
};

int64_t product(const std::vector<int64_t> &shape, size_t begin, size_t end) {
  int64_t result = 1;
  for (size_t i = begin; i < end; ++i)
    result *= shape[i];
  return result;
}

Rows matchRows(const std::vector<int64_t> &shape,
               const std::vector<int64_t> &scores) {
  const int64_t count = product(shape, 0, shape.size());
  const int64_t all = product(scores, 0, scores.size());
  Rows rows;
  // One index per row: the shape is that of the scores without one dimension,
  // preferably the last.
  for (size_t axis = scores.size(); axis-- > 0;) {
    std::vector<int64_t> rest = scores;
    rest.erase(rest.begin() + long(axis));
    if (rest == shape) {
      rows.rows = count;
      rows.choices = scores[axis];
      rows.inner = product(scores, axis + 1, scores.size());
      return rows;
    }
  }
  rows.choices = scores.empty() ? 1 : scores.back();
  rows.rows = rows.choices ? all / rows.choices : 0;
  if (rows.rows && count % rows.rows == 0) {
    rows.perRow = count / rows.rows;
    return rows;
  }
  throw Error("ties: the shapes of the indices and of the scores do not fit",
              "scores are [..., n], indices [...] or [..., k]");
}

int64_t indexAt(const Elements &elements, int64_t i) {
  const double value = elements.value(i);
  // A value far beyond any score and never equal to one.
  return std::isfinite(value) && std::fabs(value) < 9e15 ? int64_t(value) : -1;
}

class TieCheck {
public:
  TieCheck(const Elements &got, const Elements &want, const Scores &scores,
           const Rows &rows)
      : got(got), want(want), scores(scores), rows(rows) {
    double squares = 0;
    int64_t count = 0;
    for (int64_t i = 0; i < scores.values.count(); ++i)
      if (const double value = scores.values.value(i); std::isfinite(value)) {
        squares += value * value;
        ++count;
      }
    size = count ? std::sqrt(squares / double(count)) : 0;
  }

  // Returns the position within the row of the first index that is not a near
  // tie, or -1.
  int64_t check(int64_t row) const {
    const int64_t begin = row * rows.perRow;
    int64_t wrong = -1;
    for (int64_t i = 0; i < rows.perRow && wrong < 0; ++i)
      if (!near(row, indexAt(got, begin + i), indexAt(want, begin + i)))
        wrong = i;
    if (wrong >= 0 && !(ascending(got, begin) && ascending(want, begin) &&
                        nearAsSets(row, begin)))
      return wrong;
    return repeated(begin);
  }

private:
  bool near(int64_t row, int64_t a, int64_t b) const {
    if (a == b)
      return true;
    if (a < 0 || b < 0 || a >= rows.choices || b >= rows.choices)
      return false;
    return nearScores(score(row, a), score(row, b));
  }
  double score(int64_t row, int64_t choice) const {
    return scores.values.value(rows.offset(row, choice));
  }
  bool nearScores(double a, double b) const {
    return a == b || (std::isnan(a) && std::isnan(b)) ||
           std::fabs(a - b) <= scores.limit * (std::fabs(b) + size);
  }

  bool ascending(const Elements &list, int64_t begin) const {
    // -1 pads the end of such lists.
    for (int64_t i = 1; i < rows.perRow; ++i) {
      const int64_t next = indexAt(list, begin + i);
      if (next >= 0 && next < indexAt(list, begin + i - 1))
        return false;
    }
    return true;
  }

  bool nearAsSets(int64_t row, int64_t begin) const {
    std::map<int64_t, int64_t> surplus;
    for (int64_t i = 0; i < rows.perRow; ++i) {
      ++surplus[indexAt(got, begin + i)];
      --surplus[indexAt(want, begin + i)];
    }
    std::vector<double> added, lost;
    for (const auto &[index, count] : surplus) {
      if (count && (index < 0 || index >= rows.choices))
        return false;
      for (int64_t i = 0; i < std::abs(count); ++i)
        (count > 0 ? added : lost).push_back(score(row, index));
    }
    std::sort(added.begin(), added.end());
    std::sort(lost.begin(), lost.end());
    for (size_t i = 0; i < added.size(); ++i)
      if (!nearScores(added[i], lost[i]))
        return false;
    return true;
  }

  int64_t repeated(int64_t begin) const {
    std::map<int64_t, int64_t> counts;
    for (int64_t i = 0; i < rows.perRow; ++i)
      ++counts[indexAt(want, begin + i)];
    std::map<int64_t, int64_t> seen;
    for (int64_t i = 0; i < rows.perRow; ++i) {
      const int64_t index = indexAt(got, begin + i);
      const auto found = counts.find(index);
      // The alternative index of a tie may occur once.
      if (++seen[index] > (found == counts.end() ? 1 : found->second))
        return i;
    }
    return -1;
  }

  const Elements &got, &want;
  const Scores &scores;
  const Rows &rows;
  double size = 0;
};

} // namespace

Comparison compareTies(const Elements &got, const Elements &want,
                       const std::vector<int64_t> &shape,
                       const Scores &scores) {
  Comparison result = compareExact(got, want);
  result.limit = scores.limit;
  if (result.ok)
    return result;
  const int64_t differing = result.differing;
  result.ok = true;
  result.first = -1;
  result.differing = 0;
  result.problem.clear();
  const Rows rows = matchRows(shape, scores.shape);
  const TieCheck check(got, want, scores, rows);
  for (int64_t row = 0; row < rows.rows; ++row)
    if (const int64_t wrong = check.check(row); wrong >= 0) {
      result.ok = false;
      ++result.differing;
      if (result.first < 0)
        result.first = row * rows.perRow + wrong;
    }
  if (!result.ok)
    result.problem = "of " + std::to_string(differing) +
                     " differing indices, those of " +
                     std::to_string(result.differing) +
                     " rows are not explained by near ties";
  return result;
}

} // namespace tessera::cases
