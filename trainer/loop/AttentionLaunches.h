// trainer/loop/AttentionLaunches.h - what the attention of a pattern launches,
// without a model and without data.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace tessera::trainer {

struct Config;

/// The kernels of tessera::attention with the pattern of the first layer, as
/// requests (JSON, language/Request.h), each once: forward and backward of
/// train.device_batch_size sequences of train.seq_len tokens, the heads of
/// `model`, the type of runtime.precision. Compiles and runs nothing. Throws
/// tessera::Error if the attention is not a pattern.
std::vector<std::string> listAttention(const Config &config);

/// Runs these launches on the cpu with random queries, keys and values. Like
/// those of runMicroBatch(), the sequences are as long as the bucket of tables
/// that train.seq_len belongs to.
void runAttention(const Config &config);

} // namespace tessera::trainer
