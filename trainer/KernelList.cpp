// trainer/KernelList.cpp - the kernels of a run, before any of them runs.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/KernelList.h"

#include "models/Transformer.h"
#include "trainer/Config.h"
#include "trainer/Evaluate.h"
#include "trainer/Run.h"
#include "trainer/Start.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <algorithm>

namespace tessera::trainer {

std::vector<std::string> listKernels(const Corpus &corpus, const Config &config,
                                     bool prepare, at::Device device) {
  // Layers launch the same kernels, which see neither vocabulary nor MLP.
  models::ModelConfig small = config.model;
  small.layers = 1;
  small.vocabulary = std::min<int64_t>(small.vocabulary, 64);
  small.mlpDim = std::min<int64_t>(small.mlpDim, 64);
  models::Transformer model(small, config.kernels, uint64_t(config.seed),
                            device);
  // Weights of the type that the run computes in.
  const AdamW optimizer(model.parameters(), config);
  const auto tokens = [&](int64_t sequences) {
    return at::zeros({sequences, config.sequenceLength},
                     at::TensorOptions(at::kLong).device(device));
  };
  const auto evaluation = [&](int64_t windows, int without) {
    const at::NoGradGuard noGrad;
    models::ForwardOptions options;
    options.without = without;
    options.wantIndices = small.attention == models::AttentionKind::Nsa;
    model.forward(tokens(windows), options);
  };
  return model.kernels().listLaunches(
      [&] {
        const at::Tensor some = tokens(config.deviceBatchSize);
        backward(model, {some, some}, config.accumulate);
        for (const int64_t windows : evaluationBatches(corpus, config)) {
          evaluation(windows, -1);
          if (small.attention == models::AttentionKind::Nsa)
            for (int branch = 0; branch < 3; ++branch)
              evaluation(windows, branch);
        }
      },
      prepare);
}

std::vector<std::string> listKernels(const Config &given) {
  at::set_num_threads(int(given.threads));
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/false);
  const Corpus corpus = loadCorpus(given);
  return listKernels(corpus, withVocabulary(given, corpus), /*prepare=*/false);
}

} // namespace tessera::trainer
