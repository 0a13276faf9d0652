// trainer/generate/Sampling.h - text that a model writes while it is trained.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Transformer.h"
#include "trainer/data/Corpus.h"

#include <string>

namespace tessera::trainer {

struct Config;

/// What a sample is drawn from, and what was drawn.
struct Sample {
  std::string prompt, text;
};

/// Throws tessera::Error for a data.tokenizer_path that does not fit the model.
void requireSamples(const Corpus &corpus, const Config &config);

/// The first held-out tokens, at most 32, and config.sampleTokens drawn behind
/// them, fewer where train.seq_len is shorter: temperature 0.8, the same draws
/// for the same weights. By forward passes over train.seq_len tokens, the
/// kernels of an evaluation. Tokens of a tokenizer that is not known here are
/// written as their numbers.
Sample drawSample(models::Transformer &model, const Corpus &corpus,
                  const Config &config);

} // namespace tessera::trainer
