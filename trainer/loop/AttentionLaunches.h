// trainer/loop/AttentionLaunches.h - lists and runs the launches of a pattern's
// attention without a model or data, for `tessera tune`.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace tessera::trainer {

struct Config;

/// Returns the distinct kernels of tessera::attention with the first layer's
/// pattern, as requests (JSON, language/Request.h). They are those of a forward
/// and backward pass of train.device_batch_size sequences of train.seq_len
/// tokens in runtime.precision. Compiles and runs nothing. Throws
/// tessera::Error if the attention is not a pattern.
std::vector<std::string> listAttention(const Config &config);

/// Runs these launches on the CPU with random queries, keys and values. As in
/// runMicroBatch(), the sequence length is that of the tuning tables' bucket to
/// which train.seq_len belongs.
void runAttention(const Config &config);

} // namespace tessera::trainer
