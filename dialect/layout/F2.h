// dialect/layout/F2.h - vectors and subspaces over the field of two elements.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A vector is a 64-bit word, addition is XOR, a matrix is the list of its
// columns. LinearLayout uses Gaussian elimination on such lists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace tessera::layout {

using Word = uint64_t;

// The span of the vectors added so far, in echelon form. Each row records of
// which added vectors it is the sum, so that solve() can express a vector by
// the first 64 added vectors.
class Span {
public:
  Span() = default;
  explicit Span(const std::vector<Word> &vectors) {
    for (Word v : vectors)
      add(v);
  }

  // Adds v and returns true; returns false if v is in the span already.
  bool add(Word v);
  int dim() const { return static_cast<int>(rows.size()); }
  // Returns the representative of v modulo the span: equal for two vectors that
  // differ by an element of the span, and 0 for elements of the span.
  Word reduce(Word v) const;
  bool contains(Word v) const { return reduce(v) == 0; }
  bool contains(const Span &other) const;
  // Returns which added vectors sum to v: bit i stands for the i-th call of
  // add(). Never uses a vector for which add() returned false. Returns nullopt
  // if v is outside the span.
  std::optional<Word> solve(Word v) const;
  std::vector<Word> basis() const;

private:
  struct Row {
    Word vector, combination;
  };
  // Sorted by leading bit, highest first.
  std::vector<Row> rows;
  int added = 0;
};

// Returns the dimension of the column space.
int rankOf(const std::vector<Word> &columns);
// Returns a basis of the kernel {x : multiply(columns, x) = 0}.
std::vector<Word> kernelOf(const std::vector<Word> &columns);
// Returns the matrix-vector product: the XOR of the columns whose bit is set in
// x.
inline Word multiply(const std::vector<Word> &columns, Word x) {
  Word sum = 0;
  for (size_t i = 0; x; ++i, x >>= 1)
    if (x & 1)
      sum ^= columns[i];
  return sum;
}
// Returns a basis of the intersection of span(a) and span(b).
std::vector<Word> intersection(const std::vector<Word> &a,
                               const std::vector<Word> &b);

} // namespace tessera::layout
