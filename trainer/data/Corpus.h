// trainer/data/Corpus.h - the training tokens and the held-out tokens of a run.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/data/PackedRows.h"

#include <memory>
#include <string>

namespace tessera::trainer {

struct Config;

struct Corpus {
  std::string name;
  /// Disjoint. The held-out part consists of the files whose names say so
  /// (namesHeldOut()) if there are other files too, else of the last twentieth.
  TokenStore training, heldOut;
  bool heldOutFiles = false; ///< True if the names of files divide the data.
  /// The documents packed in rows, with data.packing=best_fit; else null.
  std::shared_ptr<const PackedRows> trainingRows, heldOutRows;
  /// Identifies the data: the SHA-256 of all data. For data too long to read
  /// at every start: "sampled:" and the SHA-256 of samples.
  std::string hash;
  int64_t vocabulary = 256;
  std::string tokenizer = "byte"; ///< Of its files.
  /// 1 for text; 0 where the files do not say how long their text is.
  double tokensPerByte = 1;

  bool bytes() const { return vocabulary == 256; }
};

/// The unit in which losses are reported: bits per byte if the length of the
/// text is known, else bits per token.
struct LossUnit {
  double perToken;  ///< Bits of a token times this are what is told.
  const char *name; ///< "bits/byte"
  const char *key;  ///< "bpb", in metrics.
};
LossUnit lossUnit(const Corpus &corpus);

/// Opens config.dataPath, computes synthetic tokens, or makes the King James
/// text from Debian's bible-kjv. Documents in .jsonl and .parquet files become
/// shards once (trainer/data/PreparedFolder.h). Throws tessera::Error for data
/// that is missing, damaged, or not enough.
Corpus loadCorpus(const Config &config);

/// Returns the files below a folder in the order of their names, or the path
/// itself if it is a file. Leaves out hidden files and folders, whose names
/// begin with a dot, and the folder `except`. Throws tessera::Error if the path
/// does not exist.
std::vector<std::string> filesBelow(const std::string &path,
                                    const std::string &except = "");

/// Returns the folder for data that is prepared once: $TESSERA_DEPS or its
/// default.
std::string dependencyFolder();

} // namespace tessera::trainer
