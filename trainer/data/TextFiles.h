// trainer/data/TextFiles.h - reads documents from text, JSONL and parquet
// files.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera::trainer {

/// Receives documents one after the other, each in one or more pieces.
class DocumentSink {
public:
  virtual ~DocumentSink() = default;
  /// Starts a document.
  virtual void begin() = 0;
  /// Appends to the last document.
  virtual void append(std::string_view text) = 0;
};

/// Passes the documents of the files to the sink. Every line of a .jsonl file
/// is a document, with its text under the key `field`. Every row of a .parquet
/// file is a document, with its text in the column `field`. Every other file is
/// one document. Empty documents are omitted. Memory depends on the longest
/// line and not on the size of the files. Throws tessera::Error, with file and
/// line or row group, if the input is not valid.
void readDocuments(const std::vector<std::string> &files,
                   const std::string &field, DocumentSink &sink);

} // namespace tessera::trainer
