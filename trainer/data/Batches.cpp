// trainer/data/Batches.cpp - cuts windows out of a corpus.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/Batches.h"

#include "trainer/settings/Config.h"

#include <ATen/ATen.h>
#include <algorithm>
#include <cstring>

namespace tessera::trainer {

Batch toBatch(const TokenBatch &tokens, int64_t length, at::Device device) {
  const size_t count = tokens.inputs.size();
  // Pinned, the host need not wait for the copy.
  at::Tensor all =
      at::empty({2, int64_t(count) / length, length},
                at::TensorOptions(at::kLong).pinned_memory(device.is_cuda()));
  int64_t *data = all.data_ptr<int64_t>();
  std::memcpy(data, tokens.inputs.data(), count * sizeof(int64_t));
  std::memcpy(data + count, tokens.targets.data(), count * sizeof(int64_t));
  all = all.to(device, /*non_blocking=*/device.is_cuda());
  const auto none =
      std::count(tokens.targets.begin(), tokens.targets.end(), noTarget);
  return {all[0], all[1], tokens.starts, int64_t(count) - int64_t(none)};
}

Batch trainingBatch(const Corpus &corpus, const Config &config, int64_t first,
                    at::Device device) {
  Config once = config;
  once.dataPrefetch = 0;
  once.dataEnd = DataEnd::Repeat;
  return toBatch(TokenSource(corpus, once, first, 0, config.processes).next(),
                 config.sequenceLength, device);
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
  std::vector<int64_t> numbers;
  for (int64_t i = first; i < first + count; ++i)
    // Not i * windows / total, which may need more than 64 bits.
    numbers.push_back(int64_t(__int128(i) * windows / total));
  if (corpus.heldOutRows)
    return toBatch(readRows(*corpus.heldOutRows, numbers, length), length,
                   device);
  for (int64_t &number : numbers)
    number *= length;
  return toBatch(readWindows(corpus.heldOut, numbers, length), length, device);
}

} // namespace tessera::trainer
