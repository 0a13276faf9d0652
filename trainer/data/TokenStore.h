// trainer/data/TokenStore.h - tokens of several files as one row.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/data/RandomFile.h"
#include "trainer/data/SyntheticTokens.h"
#include "trainer/data/TokenFile.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera::trainer {

/// Tokens first .. first+length-1 of a row.
struct Document {
  int64_t first = 0, length = 0;
  bool ends = true; ///< False: the row has its beginning only.
};

/// A row of tokens; they stay in their files until they are read. Numbers and
/// offsets have 64 bits.
class TokenStore {
public:
  TokenStore() = default;
  /// A row in memory, one token for each byte.
  explicit TokenStore(std::string text);
  /// The first `count` tokens of a row that is computed as it is read; one
  /// document.
  TokenStore(const SyntheticTokens &tokens, int64_t count);

  /// Appends the tokens of a file.
  void add(std::shared_ptr<const RandomFile> file, const TokenLayout &layout);

  int64_t size() const { return total; }
  int64_t vocabulary() const {
    return largest;
  } ///< Of all files; 256 for text.

  /// Tokens first .. first+count-1. Throws tessera::Error when a file cannot be
  /// read or holds a token that is not in its vocabulary. May be called from
  /// several threads.
  void read(int64_t first, int64_t count, int64_t *out) const;

  /// Tokens first .. first+count-1 as a row of its own, of the same files.
  TokenStore part(int64_t first, int64_t count) const;

  /// The documents of the row, in its order; together they have every token. A
  /// shard's index says where they begin, in llm.c's files the token that
  /// stands before each does (the whole file is read), other files are one
  /// document each. Throws tessera::Error for an index that is damaged.
  std::vector<Document> documents() const;
  /// Returns the token before each document; -1 if there is none.
  int64_t endToken() const { return end; }

private:
  struct Segment {
    // One of these.
    std::shared_ptr<const RandomFile> file;
    std::shared_ptr<const std::string> text;
    std::optional<SyntheticTokens> made;
    int width = 1;
    int64_t offset = 0; ///< In the file, in bytes.
    int64_t start = 0;  ///< In the row, in tokens.
    int64_t count = 0;
    int64_t vocabulary = 256;
    TokenLayout layout; ///< Of the whole file.
  };
  static void addDocuments(const Segment &segment, std::vector<Document> &all);
  static void readSegment(const Segment &segment, int64_t first, int64_t count,
                          int64_t *out);

  std::vector<Segment> segments;
  int64_t end = -1;
  int64_t total = 0;
  int64_t largest = 0;
};

} // namespace tessera::trainer
