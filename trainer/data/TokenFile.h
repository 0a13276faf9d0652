// trainer/data/TokenFile.h - reads and writes the headers of token files.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::trainer {

/// The format of a file of tokens.
enum class TokenFormat {
  Text,  ///< Any file: each byte is a token.
  LlmC,  ///< llm.c's .bin: 256 int32 of header, then tokens.
  Shard, ///< The format that TokenLayout describes.
};

/// The position and format of a file's tokens, and the header's metadata.
///
/// The project's shards:
///
///   0       "TSRTOK01", then a JSON object, padded with blanks to byte 1024
///   1024    tokens, little-endian, 2 or 4 bytes each
///   then    the index of the first token of each document, uint64
///
/// The object has version, dtype (u16 or u32), vocabulary, tokenizer, tokens,
/// text_bytes, documents, the sha256 of all bytes from offset 1024 on, and, if
/// there is a token before each document, that token as `end`.
struct TokenLayout {
  TokenFormat format = TokenFormat::Text;
  int width = 1; ///< Bytes of a token.
  int64_t offset = 0;
  int64_t tokens = 0;
  int64_t vocabulary = 256;
  std::string tokenizer = "byte";
  int64_t endToken = -1;
  int64_t textBytes = 0; ///< 0 if unknown.
  int64_t documents = 0;
  std::string sha256; ///< Empty if the file lacks it.
};

constexpr int64_t shardHeaderBytes = 1024;

/// Reads the header of a file of `size` bytes. `head` has the first 1024 bytes,
/// or all if the file is shorter. A file without a known header is text. Throws
/// tessera::Error if a header contradicts itself or the size.
TokenLayout readLayout(std::string_view head, int64_t size,
                       const std::string &name);

/// Returns the header of a shard, 1024 bytes. Throws tessera::Error if the
/// tokenizer's name is too long for it.
std::string shardHeader(const TokenLayout &layout);

/// Returns the name of a format for messages, such as "shard".
const char *formatName(TokenFormat format);

} // namespace tessera::trainer
