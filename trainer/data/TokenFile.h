// trainer/data/TokenFile.h - files of tokens: their headers, read and written.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::trainer {

enum class TokenFormat {
  Text,  ///< Any file: each byte is a token.
  LlmC,  ///< llm.c's .bin: 256 int32 of header, then tokens.
  Shard, ///< Ours, below.
};

/// The position and format of a file's tokens, and the header's metadata.
///
/// Our shards: "TSRTOK01", a JSON object padded with blanks up to byte 1024,
/// the tokens (little-endian), then for every document the number of its first
/// token as uint64. The object has version, dtype (u16 or u32), vocabulary,
/// tokenizer, end (the token before each document, -1: none), tokens,
/// text_bytes, documents, and sha256 of all bytes from offset 1024 on.
struct TokenLayout {
  TokenFormat format = TokenFormat::Text;
  int width = 1; ///< Bytes of a token.
  int64_t offset = 0;
  int64_t tokens = 0;
  int64_t vocabulary = 256;
  std::string tokenizer = "byte";
  int64_t endToken = -1;
  int64_t textBytes = 0; ///< 0: not known.
  int64_t documents = 0;
  std::string sha256; ///< Empty if the file lacks it.
};

constexpr int64_t shardHeaderBytes = 1024;

/// Reads the header of a file of `size` bytes that begins with `head` (its
/// first 1024 bytes, or all). Throws tessera::Error for a header that
/// contradicts itself or the size; a file without one is text.
TokenLayout readLayout(std::string_view head, int64_t size,
                       const std::string &name);

/// Returns the header of a shard, 1024 bytes.
std::string shardHeader(const TokenLayout &layout);

const char *formatName(TokenFormat format);

} // namespace tessera::trainer
