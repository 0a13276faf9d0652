// trainer/data/Corpus.h - the training tokens and the held-out tokens of a run.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/data/PackedRows.h"

#include <memory>
#include <string>

namespace tessera::trainer {

struct Config;

/// The data of a run.
struct Corpus {
  std::string name;
  /// Disjoint streams of tokens. If some files have names that match
  /// namesHeldOut() and others do not, the former are held out. Else the last
  /// twentieth is held out.
  TokenStore training, heldOut;
  bool heldOutFiles = false; ///< True if file names select the held-out data.
  /// The documents packed into rows; null unless data.packing=best_fit.
  std::shared_ptr<const PackedRows> trainingRows, heldOutRows;
  /// Identifies the data: the SHA-256 of all bytes. For data that is too long
  /// to be read at every start: "sampled:" and the SHA-256 of samples.
  std::string hash;
  int64_t vocabulary = 256;
  std::string tokenizer = "byte"; ///< Tokenizer of the files.
  /// 1 for text; 0 if the files do not contain the length of their text.
  double tokensPerByte = 1;

  /// True if the tokens are the 256 byte values.
  bool bytes() const { return vocabulary == 256; }
};

/// The unit in which losses are reported: bits per byte if the length of the
/// text is known, else bits per token.
struct LossUnit {
  double perToken;  ///< Factor from bits per token to the reported unit.
  const char *name; ///< "bits/byte"
  const char *key;  ///< Key in metrics, such as "bpb".
};
/// Returns the unit for the losses of this data.
LossUnit lossUnit(const Corpus &corpus);

/// Opens config.dataPath, or generates synthetic tokens. Without a path it uses
/// the King James text, which Debian's bible-kjv prints. Documents in .jsonl
/// and .parquet files are converted to shards once
/// (trainer/data/PreparedFolder.h). Throws tessera::Error if data is missing,
/// damaged, or too short.
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
