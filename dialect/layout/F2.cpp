// dialect/layout/F2.cpp - Gaussian elimination on 64-bit words.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "dialect/layout/F2.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace tessera::layout {

static Word leadingBit(Word v) { return std::bit_floor(v); }

bool Span::add(Word v) {
  Word combination = added < 64 ? Word(1) << added : 0;
  ++added;
  for (const Row &row : rows)
    if (v & leadingBit(row.vector)) {
      v ^= row.vector;
      combination ^= row.combination;
    }
  if (!v)
    return false;
  auto place = std::find_if(rows.begin(), rows.end(),
                            [&](const Row &row) { return row.vector < v; });
  rows.insert(place, {v, combination});
  return true;
}

Word Span::reduce(Word v) const {
  for (const Row &row : rows)
    if (v & leadingBit(row.vector))
      v ^= row.vector;
  return v;
}

bool Span::contains(const Span &other) const {
  return std::all_of(other.rows.begin(), other.rows.end(),
                     [&](const Row &row) { return contains(row.vector); });
}

std::optional<Word> Span::solve(Word v) const {
  Word combination = 0;
  for (const Row &row : rows)
    if (v & leadingBit(row.vector)) {
      v ^= row.vector;
      combination ^= row.combination;
    }
  if (v)
    return std::nullopt;
  return combination;
}

std::vector<Word> Span::basis() const {
  std::vector<Word> vectors;
  for (const Row &row : rows)
    vectors.push_back(row.vector);
  return vectors;
}

int rankOf(const std::vector<Word> &columns) { return Span(columns).dim(); }

std::vector<Word> kernelOf(const std::vector<Word> &columns) {
  assert(columns.size() <= 64 && "a combination is a word of 64 bits");
  Span span;
  std::vector<Word> kernel;
  for (size_t i = 0; i < columns.size(); ++i) {
    // A dependent column and the earlier columns of which it is the sum.
    if (auto earlier = span.solve(columns[i]))
      kernel.push_back(*earlier | Word(1) << i);
    span.add(columns[i]);
  }
  return kernel;
}

std::vector<Word> intersection(const std::vector<Word> &a,
                               const std::vector<Word> &b) {
  const std::vector<Word> left = Span(a).basis(), right = Span(b).basis();
  std::vector<Word> both = left;
  both.insert(both.end(), right.begin(), right.end());
  std::vector<Word> result;
  const Word mask = left.size() == 64 ? ~Word(0) : (Word(1) << left.size()) - 1;
  for (Word x : kernelOf(both))
    result.push_back(multiply(left, x & mask));
  return result;
}

} // namespace tessera::layout
