// trainer/data/PackedRows.cpp - assigns pieces of documents to rows, and reads
// rows.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/PackedRows.h"

#include "support/Error.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace tessera::trainer {
namespace {

using Piece = PackedRows::Piece;
using Follows = PackedRows::Follows;

/// Cuts the documents into pieces of at most `length` tokens. Omits pieces
/// without a target: a single token with an unknown successor.
std::vector<Piece> cut(const TokenStore &store, int64_t length) {
  std::vector<Piece> pieces;
  for (const Document &d : store.documents())
    for (int64_t at = 0; at < d.length; at += length) {
      const int64_t count = std::min(length, d.length - at);
      const Follows follows = at + count < d.length ? Follows::Next
                              : d.ends && store.endToken() >= 0
                                  ? Follows::End
                                  : Follows::Nothing;
      if (count > 1 || follows != Follows::Nothing)
        pieces.push_back({d.first + at, int32_t(count), follows});
    }
  return pieces;
}

/// Returns the row of each piece and adds the number of new rows to `rows`.
std::vector<int32_t> bestFit(const std::vector<Piece> &pieces, int64_t length,
                             int32_t &rows) {
  std::vector<size_t> order(pieces.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return pieces[a].length > pieces[b].length;
  });
  // Rows by remaining room; lists are not empty.
  std::map<int64_t, std::vector<int32_t>> byRoom;
  std::vector<int32_t> rowOf(pieces.size());
  for (const size_t i : order) {
    const int64_t size = pieces[i].length;
    int64_t room = length;
    if (const auto fit = byRoom.lower_bound(size); fit != byRoom.end()) {
      room = fit->first;
      rowOf[i] = fit->second.back();
      fit->second.pop_back();
      if (fit->second.empty())
        byRoom.erase(fit);
    } else {
      rowOf[i] = rows++;
    }
    if (room > size)
      byRoom[room - size].push_back(rowOf[i]);
  }
  return rowOf;
}

} // namespace

PackedRows::PackedRows(TokenStore given, int64_t length)
    : store(std::move(given)), length(length) {
  const std::vector<Piece> pieces = cut(store, length);
  if (pieces.empty())
    throw Error("the documents have no token to predict",
                "data.packing wants documents of two tokens and more");
  int32_t rows = 0;
  std::vector<int32_t> rowOf = bestFit(pieces, length, rows);
  // Renumbers the rows by their first piece, since pieces have the order of the
  // store.
  std::vector<int32_t> number(size_t(rows), -1);
  int32_t next = 0;
  begins.assign(size_t(rows) + 1, 0);
  for (int32_t &row : rowOf) {
    int32_t &renamed = number[size_t(row)];
    if (renamed < 0)
      renamed = next++;
    row = renamed;
    ++begins[size_t(row) + 1];
  }
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  all.resize(pieces.size());
  std::vector<size_t> place(begins.begin(), begins.end() - 1);
  for (size_t i = 0; i < pieces.size(); ++i) {
    all[place[size_t(rowOf[i])]++] = pieces[i];
    tokens += pieces[i].length;
  }
}

std::span<const Piece> PackedRows::pieces(int64_t row) const {
  const size_t begin = begins[size_t(row)], end = begins[size_t(row) + 1];
  return {all.data() + begin, end - begin};
}

void PackedRows::read(int64_t row, int64_t offset, int64_t *inputs,
                      int64_t *targets, std::vector<int32_t> &starts) const {
  int64_t at = 0;
  for (const Piece &p : pieces(row)) {
    store.read(p.first, p.length, inputs + at);
    std::copy_n(inputs + at + 1, p.length - 1, targets + at);
    int64_t *last = targets + at + p.length - 1;
    if (p.follows == Follows::Next)
      store.read(p.first + p.length, 1, last);
    else
      *last = p.follows == Follows::End ? store.endToken() : noTarget;
    at += p.length;
    starts.push_back(int32_t(offset + at));
  }
  if (at == length)
    return;
  std::fill(inputs + at, inputs + length, 0);
  std::fill(targets + at, targets + length, noTarget);
  starts.push_back(int32_t(offset + length));
}

} // namespace tessera::trainer
