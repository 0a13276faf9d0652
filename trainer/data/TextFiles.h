// trainer/data/TextFiles.h - documents out of text, JSONL and parquet files.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera::trainer {

/// Takes documents one after the other, each in pieces.
class DocumentSink {
public:
  virtual ~DocumentSink() = default;
  virtual void begin() = 0;
  virtual void append(std::string_view text) = 0; ///< To the one begun last.
};

/// Every line of a .jsonl file is a document, its text under the key `field`;
/// every row of a .parquet file is one, its text in the column `field`; every
/// other file is one. Empty ones are left out. Memory does not grow with the
/// files but by the longest line. Throws tessera::Error, with file and line or
/// row group, for input that is none.
void readDocuments(const std::vector<std::string> &files,
                   const std::string &field, DocumentSink &sink);

} // namespace tessera::trainer
