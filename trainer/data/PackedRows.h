// trainer/data/PackedRows.h - rows of whole documents, by best fit.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/data/TokenStore.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tessera::trainer {

/// Not a token: a target that no loss is taken of (torch's ignore_index).
constexpr int64_t noTarget = -100;

/// The documents of a row of tokens as rows of `length` tokens. Documents that
/// are longer are cut every `length` tokens; of the pieces the longest is laid
/// first, each into the row with the least room that takes it ("best fit
/// decreasing"), so a document that is not longer than a row is never cut and
/// little is padding. The result depends on the documents and `length` alone.
/// 16 bytes a piece are kept, the tokens stay in their files.
class PackedRows {
public:
  /// Throws tessera::Error when no document has a token to predict.
  PackedRows(TokenStore store, int64_t length);

  /// What the last token of a piece is to predict.
  enum class Follows : int8_t { Next, End, Nothing };
  struct Piece {
    int64_t first; ///< Token of the store.
    int32_t length;
    /// The next token of the document, the token before documents, or neither:
    /// the files have no such token, or the document is cut off.
    Follows follows;
  };
  /// In the order of their first documents in the store.
  int64_t rows() const { return int64_t(begins.size()) - 1; }
  std::span<const Piece> pieces(int64_t row) const;
  /// Tokens of documents in all rows; the others of rows() * length are zeros.
  int64_t filled() const { return tokens; }

  /// Writes `length` inputs and targets of a row and appends the end of each
  /// piece, counted from `offset`, to `starts`. Padding is a sequence of its
  /// own without targets.
  void read(int64_t row, int64_t offset, int64_t *inputs, int64_t *targets,
            std::vector<int32_t> &starts) const;

private:
  const TokenStore store;
  const int64_t length;
  std::vector<Piece> all;     ///< Row after row.
  std::vector<size_t> begins; ///< Of each row in `all`, and the end.
  int64_t tokens = 0;
};

} // namespace tessera::trainer
