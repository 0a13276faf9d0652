// trainer/data/ShardWriter.h - writes documents to shards of tokens; used by
// prepareData().
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/File.h"
#include "support/Hash.h"
#include "trainer/data/TokenFile.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::trainer {

/// The tokenizer and the vocabulary of a shard's tokens.
struct TokenKind {
  std::string name = "byte";
  int64_t vocabulary = 257;
  int64_t end = 256; ///< Token before each document.
};

/// Writes FOLDER/NAME_000000.bin and so on. A file gets its name when it is
/// complete and on disk. A shard contains complete documents of any length.
class ShardWriter {
public:
  /// Ends a shard after the document with which it reaches `shardTokens`.
  ShardWriter(std::filesystem::path folder, std::string name,
              int64_t shardTokens, TokenKind kind = {});
  ~ShardWriter(); ///< Removes an unfinished shard.
  ShardWriter(const ShardWriter &) = delete;
  ShardWriter &operator=(const ShardWriter &) = delete;

  /// Starts a document. This and the following functions throw tessera::Error
  /// if a write fails.
  void beginDocument();
  /// Appends to the last document: each byte as a token, or tokens that encode
  /// `textBytes` bytes of text.
  void append(std::string_view text);
  void append(std::span<const uint32_t> tokens, int64_t textBytes);
  /// Completes the open shard.
  void finish();

  /// Return the complete shards, and the tokens and documents in them.
  const std::vector<std::string> &files() const { return written; }
  int64_t tokens() const { return allTokens; }
  int64_t documents() const { return allDocuments; }

private:
  void open();
  void close();
  void put(std::string_view bytes);

  const std::filesystem::path folder;
  const std::string name;
  const int64_t shardTokens;
  const TokenKind kind;
  UniqueFd fd;
  std::filesystem::path temporary;
  Sha256 sum;
  TokenLayout layout; ///< Header of the open shard.
  std::vector<uint64_t> starts;
  std::vector<std::string> written;
  int64_t allTokens = 0, allDocuments = 0;
};

} // namespace tessera::trainer
