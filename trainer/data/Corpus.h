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
  /// Disjoint: the held-out part is the last twentieth, or the files with
  /// "val" in their names where there are any.
  TokenStore training, heldOut;
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

/// Files below a path in the order of their names; the path itself when it is
/// a file. Throws tessera::Error when there is none.
std::vector<std::string> filesBelow(const std::string &path);

/// The folder that keeps what is made once: $TESSERA_DEPS and its defaults.
std::string dependencyFolder();

} // namespace tessera::trainer
