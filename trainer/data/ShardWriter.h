// trainer/data/ShardWriter.h - writes documents to shards of tokens.
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

/// What a shard's tokens are.
struct TokenKind {
  std::string name = "byte";
  int64_t vocabulary = 257;
  int64_t end = 256; ///< Before each document.
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

  /// All throw tessera::Error when the disk does not take it.
  void beginDocument();
  /// To the document begun last: each byte a token, or tokens that stand for
  /// so many bytes of text.
  void append(std::string_view text);
  void append(std::span<const uint32_t> tokens, int64_t textBytes);
  void finish();

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
  TokenLayout layout; ///< Of the open shard.
  std::vector<uint64_t> starts;
  std::vector<std::string> written;
  int64_t allTokens = 0, allDocuments = 0;
};

} // namespace tessera::trainer
