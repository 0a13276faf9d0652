// trainer/data/Corpus.h - tokens to learn from, tokens held out.
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
  /// The same as rows of documents, of data.packing=best_fit.
  std::shared_ptr<const PackedRows> trainingRows, heldOutRows;
  /// What tells this data from other data: SHA-256 of all of it, or, for data
  /// that is too long to be read at every start, "sampled:" and that of pieces.
  std::string hash;
  int64_t vocabulary = 256;
  std::string tokenizer = "byte"; ///< Of its files.
  /// 1 for text; 0 where the files do not say how long their text is.
  double tokensPerByte = 1;

  bool bytes() const { return vocabulary == 256; }
};

/// How a loss is told: bits per byte of text where that is known.
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

/// The folder that keeps what is made once: $TESSERA_DEPS and its defaults.
std::string dependencyFolder();

} // namespace tessera::trainer
