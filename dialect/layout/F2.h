// dialect/layout/F2.h - vectors and subspaces over the field of two elements.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A vector is a 64-bit word, addition is XOR, a matrix is the list of its
// columns. All that layouts need is Gaussian elimination on such lists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace tessera::layout {

using Word = uint64_t;

// The span of the vectors added so far, kept in echelon form. Remembers how
// each row was made, so that it also solves equations (of the first 64
// vectors).
class Span {
public:
  Span() = default;
  explicit Span(const std::vector<Word> &vectors) {
    for (Word v : vectors)
      add(v);
  }

  // False, and the span is what it was, when v lies in it already.
  bool add(Word v);
  int dim() const { return static_cast<int>(rows.size()); }
  // The same vector for all that differ by an element of the span; 0 for its
  // elements.
  Word reduce(Word v) const;
  bool contains(Word v) const { return reduce(v) == 0; }
  bool contains(const Span &other) const;
  // Which of the added vectors sum to v: bit i is the i-th call of add. Vectors
  // that add() refused are never used.
  std::optional<Word> solve(Word v) const;
  std::vector<Word> basis() const;

private:
  struct Row {
    Word vector, combination;
  };
  // By falling leading bit; a leading bit occurs in no later row.
  std::vector<Row> rows;
  int added = 0;
};

// The dimension of the column space.
int rankOf(const std::vector<Word> &columns);
// A basis of {x : sum of the columns with x's bits = 0}.
std::vector<Word> kernelOf(const std::vector<Word> &columns);
// The sum of the columns whose bit is set in x.
inline Word multiply(const std::vector<Word> &columns, Word x) {
  Word sum = 0;
  for (size_t i = 0; x; ++i, x >>= 1)
    if (x & 1)
      sum ^= columns[i];
  return sum;
}
// A basis of the vectors in both spans.
std::vector<Word> intersection(const std::vector<Word> &a,
                               const std::vector<Word> &b);

} // namespace tessera::layout
