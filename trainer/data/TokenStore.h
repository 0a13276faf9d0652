// trainer/data/TokenStore.h - presents the tokens of several files as one
// stream.
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

/// Tokens first .. first+length-1 of a stream.
struct Document {
  int64_t first = 0, length = 0;
  bool ends = true; ///< False: the stream has only its beginning.
};

/// A stream of tokens, which stay in their files until they are read. Indices
/// and offsets have 64 bits.
class TokenStore {
public:
  TokenStore() = default;
  /// Creates a stream in memory, with each byte as a token.
  explicit TokenStore(std::string text);
  /// Creates a stream of the first `count` synthetic tokens, which read()
  /// computes. The stream is one document.
  TokenStore(const SyntheticTokens &tokens, int64_t count);

  /// Appends the tokens of a file.
  void add(std::shared_ptr<const RandomFile> file, const TokenLayout &layout);

  /// Returns the number of tokens.
  int64_t size() const { return total; }
  /// Returns the largest vocabulary of the files; 256 for text.
  int64_t vocabulary() const { return largest; }

  /// Reads tokens first .. first+count-1. Throws tessera::Error if a file
  /// cannot be read or contains a token outside its vocabulary. Thread-safe.
  void read(int64_t first, int64_t count, int64_t *out) const;

  /// Returns tokens first .. first+count-1 as a separate stream of the same
  /// files.
  TokenStore part(int64_t first, int64_t count) const;

  /// Returns the documents in the order of the stream; together they contain
  /// every token. A shard has an index of documents. In llm.c's files a token
  /// precedes each document, so the function reads all tokens. Any other file
  /// is one document. Throws tessera::Error if an index is damaged.
  std::vector<Document> documents() const;
  /// Returns the token before each document; -1 if the last file lacks one.
  int64_t endToken() const { return end; }

private:
  struct Segment {
    // Source of the tokens: exactly one of these is set.
    std::shared_ptr<const RandomFile> file;
    std::shared_ptr<const std::string> text;
    std::optional<SyntheticTokens> made;
    int width = 1;
    /// In the file, in bytes; of synthetic tokens: in tokens.
    int64_t offset = 0;
    int64_t start = 0; ///< In the stream, in tokens.
    int64_t count = 0;
    int64_t vocabulary = 256;
    TokenLayout layout; ///< Header of the file.
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
