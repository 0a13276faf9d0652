// trainer/generate/Sampling.h - generates samples of text during training
// (train.sample_every).
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Transformer.h"
#include "trainer/data/Corpus.h"

#include <string>

namespace tessera::trainer {

struct Config;

/// A prompt and the text that the model continues it with.
struct Sample {
  std::string prompt, text;
};

/// Throws tessera::Error if the run draws samples, but data.tokenizer_path does
/// not fit the model.
void requireSamples(const Corpus &corpus, const Config &config);

/// Continues the first held-out tokens (32, or half of train.seq_len if that is
/// less) by config.sampleTokens tokens, or up to train.seq_len. The temperature
/// is 0.8; equal weights and seeds give equal samples. Each token takes a
/// forward pass over train.seq_len tokens, which uses the same kernels as an
/// evaluation. Without a tokenizer for the data, tokens are written as numbers.
Sample drawSample(models::Transformer &model, const Corpus &corpus,
                  const Config &config);

} // namespace tessera::trainer
