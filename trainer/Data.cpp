// trainer/Data.cpp - cuts windows out of a corpus.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/Data.h"

#include "trainer/Config.h"

#include <ATen/ATen.h>
#include <cstring>

namespace tessera::trainer {

Batch toBatch(const std::vector<int64_t> &tokens, int64_t length,
              at::Device device) {
  const int64_t rows = int64_t(tokens.size()) / (length + 1);
  at::Tensor all = at::empty({rows, length + 1}, at::kLong);
  std::memcpy(all.data_ptr<int64_t>(), tokens.data(),
              tokens.size() * sizeof(int64_t));
  all = all.to(device);
  return {all.narrow(1, 0, length), all.narrow(1, 1, length)};
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
  return (corpus.heldOut.size() - 1) / config.sequenceLength;
}

Batch heldOutBatch(const Corpus &corpus, const Config &config, int64_t first,
                   int64_t count, int64_t total, at::Device device) {
  const int64_t windows = heldOutWindows(corpus, config);
  const int64_t length = config.sequenceLength;
  std::vector<int64_t> tokens(size_t(count * (length + 1)));
  for (int64_t i = 0; i < count; ++i)
    // Not (first + i) * windows / total, which may need more than 64 bits.
    corpus.heldOut.read(int64_t(__int128(first + i) * windows / total) * length,
                        length + 1, tokens.data() + i * (length + 1));
  return toBatch(tokens, length, device);
}

} // namespace tessera::trainer
