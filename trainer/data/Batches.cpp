// trainer/data/Batches.cpp - cuts windows out of a corpus.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/Batches.h"

#include "trainer/settings/Config.h"

#include <ATen/ATen.h>
#include <algorithm>
#include <cstring>

namespace tessera::trainer {
namespace {

/// Returns int32 [values, sequences], or an undefined tensor without values.
at::Tensor valueTensor(const std::vector<int32_t> &values, int64_t sequences,
                       at::Device device) {
  return values.empty()
             ? at::Tensor()
             : at::tensor(values, at::kInt).view({-1, sequences}).to(device);
}

} // namespace

Batch toBatch(const TokenBatch &tokens, int64_t length, at::Device device) {
  const size_t count = tokens.inputs.size();
  // Pinned memory makes the copy asynchronous.
  at::Tensor all =
      at::empty({2, int64_t(count) / length, length},
                at::TensorOptions(at::kLong).pinned_memory(device.is_cuda()));
  int64_t *data = all.data_ptr<int64_t>();
  std::memcpy(data, tokens.inputs.data(), count * sizeof(int64_t));
  std::memcpy(data + count, tokens.targets.data(), count * sizeof(int64_t));
  all = all.to(device, /*non_blocking=*/device.is_cuda());
  const auto none =
      std::count(tokens.targets.begin(), tokens.targets.end(), noTarget);
  const int64_t sequences =
      tokens.starts.empty() ? all.size(1) : int64_t(tokens.starts.size()) - 1;
  return {all[0], all[1], tokens.starts, int64_t(count) - int64_t(none),
          valueTensor(tokens.perSequence, sequences, device)};
}

at::Tensor promptValues(const std::vector<SequenceSource> &sources,
                        int64_t sequences, int64_t prompt, at::Device device) {
  const at::Tensor one =
      valueTensor(valuesOfPrompt(sources, prompt), 1, device);
  return one.defined() ? one.repeat({1, sequences}) : one;
}

Batch trainingBatch(const Corpus &corpus, const Config &config, int64_t first,
                    at::Device device, int64_t steps) {
  Config once = config;
  once.dataPrefetch = 0;
  once.dataEnd = DataEnd::Repeat;
  TokenSource source(corpus, once, first, 0, config.processes, steps);
  return toBatch(source.next(), phaseAt(config, steps + 1).length, device);
}

int64_t heldOutWindows(const Corpus &corpus, const Config &config) {
  return corpus.heldOutRows
             ? corpus.heldOutRows->rows()
             : (corpus.heldOut.size() - 1) / config.sequenceLength;
}

Batch heldOutBatch(const Corpus &corpus, const Config &config, int64_t first,
                   int64_t count, int64_t total, at::Device device) {
  const int64_t windows = heldOutWindows(corpus, config);
  const int64_t length = config.sequenceLength;
  std::vector<int64_t> numbers, starts;
  for (int64_t i = first; i < first + count; ++i) {
    // The product may need more than 64 bits.
    numbers.push_back(int64_t(__int128(i) * windows / total));
    starts.push_back(numbers.back() * length);
  }
  TokenBatch tokens = corpus.heldOutRows
                          ? readRows(*corpus.heldOutRows, numbers, length)
                          : readWindows(corpus.heldOut, starts, length);
  SequenceValues(config).addTo(tokens, numbers);
  return toBatch(tokens, length, device);
}

} // namespace tessera::trainer
