// trainer/data/PackedRows.h - packs complete documents into rows by best fit,
// for data.packing=best_fit.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/data/TokenStore.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tessera::trainer {

/// Target value that the loss ignores (torch's ignore_index); not a token.
constexpr int64_t noTarget = -100;

/// Packs the documents of a token stream into rows of `length` tokens.
/// Documents that are longer are cut every `length` tokens. The pieces are
/// placed in order of decreasing length, each in the row with the least
/// sufficient room ("best fit decreasing"). So documents of at most `length`
/// tokens are never cut, and few tokens are padding:
///
///   length 8; documents a: 7, b: 5, c: 3, d: 1    row 0: a a a a a a a d
///                                                 row 1: b b b b b c c c
///
/// The result depends only on the documents and `length`. An object stores 16
/// bytes a piece; the tokens stay in their files.
class PackedRows {
public:
  /// Throws tessera::Error if no document has a token to predict.
  PackedRows(TokenStore store, int64_t length);

  /// The target of the last token of a piece: the next token of the document,
  /// the end token, or noTarget. The last applies if the files have no end
  /// token, or if the stream ends inside of the document.
  enum class Follows : int8_t { Next, End, Nothing };
  /// A document, or `length` tokens of a longer one.
  struct Piece {
    int64_t first; ///< Index of its first token in the store.
    int32_t length;
    /// Target of the last token.
    Follows follows;
  };
  /// Returns the number of rows. Rows are sorted by their first piece in the
  /// store.
  int64_t rows() const { return int64_t(begins.size()) - 1; }
  /// Returns the pieces of a row, in its order.
  std::span<const Piece> pieces(int64_t row) const;
  /// Returns the number of tokens that are not padding. The other tokens of
  /// rows() * length are zeros.
  int64_t filled() const { return tokens; }

  /// Writes `length` inputs and targets of a row. Appends the end of each
  /// piece, plus `offset`, to `starts`. The padding is a separate sequence
  /// without targets.
  void read(int64_t row, int64_t offset, int64_t *inputs, int64_t *targets,
            std::vector<int32_t> &starts) const;

private:
  const TokenStore store;
  const int64_t length;
  std::vector<Piece> all; ///< Pieces, sorted by row.
  /// First piece of each row in `all`, and all.size().
  std::vector<size_t> begins;
  int64_t tokens = 0;
};

} // namespace tessera::trainer
