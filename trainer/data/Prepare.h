// trainer/data/Prepare.h - text, JSONL and parquet into shards; shards checked.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tessera::trainer {

struct PrepareOptions {
  std::string input, out;
  std::string field = "text"; ///< Of JSONL and parquet: what holds a document.
  double heldOut = 0.05;      ///< Share of the documents, 0 to 0.5.
  std::string tokenizer;      ///< readVocabulary()'s path; empty: bytes.
  int64_t shardTokens = 100'000'000;
};

struct Prepared {
  std::vector<std::string> files;
  int64_t documents = 0, heldOutDocuments = 0, tokens = 0;
};

/// Reads documents (readDocuments()). Writes
/// train_*.bin and, of documents chosen by their number, val_*.bin. Memory does
/// not grow with the input but by its longest line. Throws tessera::Error,
/// with file and line, for input that is none, and when `out` holds files.
Prepared prepareData(const PrepareOptions &options);

struct TokenizerOptions {
  std::string input, out;
  std::string field = "text";
  int64_t size = 4096; ///< Tokens, with bytes and the end of a text.
};

/// Makes a vocabulary of documents; returns the files, vocab.json and
/// merges.txt. Throws tessera::Error as prepareData() does.
std::vector<std::string> makeTokenizer(const TokenizerOptions &options);

/// What a file is, one line for each fact.
std::string inspectData(const std::string &file);

/// Reads the whole file. Throws tessera::Error when its checksum is another, a
/// token is outside the vocabulary, the documents are out of order, or a
/// parquet file's column `field` cannot be read; returns a line that says what
/// was checked.
std::string verifyData(const std::string &file,
                       const std::string &field = "text");

} // namespace tessera::trainer
