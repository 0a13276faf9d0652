// trainer/data/Prepare.h - converts text, JSONL and parquet to shards of
// tokens, trains vocabularies, and checks files, for the commands of `tessera
// data`.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tessera::trainer {

/// The options of prepareData(). `input` is a file or a folder, `out` an empty
/// or a new folder.
struct PrepareOptions {
  std::string input, out;
  std::string field = "text"; ///< JSON key or parquet column with the text.
  double heldOut = 0.05;      ///< Share of held-out documents, 0 to 0.5.
  std::string tokenizer;      ///< readVocabulary()'s path; empty: bytes.
  int64_t shardTokens = 100'000'000;
};

/// The written shards, and the number of documents and tokens in them.
/// Documents include the held-out ones.
struct Prepared {
  std::vector<std::string> files;
  int64_t documents = 0, heldOutDocuments = 0, tokens = 0;
};

/// Reads documents with readDocuments(). Writes train_*.bin and, for the
/// held-out documents, val_*.bin. A hash of the document's number selects the
/// held-out ones. Memory depends on the longest line and not on the size of the
/// input. Throws tessera::Error, with file and line, if the input is not valid,
/// and if `out` contains files.
Prepared prepareData(const PrepareOptions &options);

/// The options of makeTokenizer(); `input`, `out` and `field` are as above.
struct TokenizerOptions {
  std::string input, out;
  std::string ranks; ///< A file of tiktoken's ranks instead of `input`.
  std::string field = "text";
  /// Number of tokens, including bytes and the end of text.
  int64_t size = 4096;
};

/// Trains a BPE vocabulary on documents, or converts a file of ranks. Returns
/// the paths of vocab.json and merges.txt. Throws tessera::Error as
/// prepareData() does.
std::vector<std::string> makeTokenizer(const TokenizerOptions &options);

/// Returns a description of a file, one line for each fact.
std::string inspectData(const std::string &file);

/// Reads all of a file. Throws tessera::Error if the checksum differs, a token
/// is outside the vocabulary, the document index does not ascend, or the column
/// `field` of a parquet file cannot be read. Returns a line with the result.
std::string verifyData(const std::string &file,
                       const std::string &field = "text");

} // namespace tessera::trainer
