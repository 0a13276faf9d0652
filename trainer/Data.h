// trainer/Data.h - bytes to learn from, bytes held out, and windows of them.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <string>

namespace tessera::trainer {

struct Config;

/// A text as bytes; its last twentieth is held out.
struct Corpus {
  std::string name;
  std::string training, heldOut;
  std::string hash; ///< SHA-256 of the whole text.
};

/// Reads config.dataPath, or makes the King James text from Debian's bible-kjv.
/// Throws tessera::Error when there is not enough of it.
Corpus loadCorpus(const Config &config);

/// The folder that keeps what is made once: $TESSERA_DEPS and its defaults.
std::string dependencyFolder();

struct Batch {
  at::Tensor inputs, targets; ///< int64 [B, S], targets one byte later.
};

/// Training windows number `first` and on; window i depends on (seed, i) only.
Batch trainingBatch(const Corpus &corpus, const Config &config, int64_t first);

/// How many windows without overlap the held-out bytes give.
int64_t heldOutWindows(const Corpus &corpus, const Config &config);

/// Windows first .. first+count-1 of `total` spread evenly over the held-out
/// bytes.
Batch heldOutBatch(const Corpus &corpus, const Config &config, int64_t first,
                   int64_t count, int64_t total);

} // namespace tessera::trainer
