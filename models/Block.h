// models/Block.h - the weights of one block.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/BlockMlp.h"
#include "models/Transformer.h"

namespace tessera::models {

/// One matrix projects the queries and every branch's keys and values: queries
/// and keys first, because those rows turn with their position.
struct Transformer::Block {
  at::Tensor attentionNorm, projection, output;
  at::Tensor gateIn, gateInBias, gateOut, gateOutBias;
  at::Tensor keyFilter, valueFilter; // of nsa.phi=conv
  BlockMlp keyPhi, valuePhi;         // of nsa.phi=mlp_pe
  at::Tensor learned;                // for attention kernels of a user's file
  at::Tensor headLearned;            // [names * Hq] for the same kernels
  at::Tensor mlpNorm, mlpIn, mlpGate, mlpOut;

  std::vector<at::Tensor> attentionWeights() const {
    return defined(
        {attentionNorm, projection,      output,       gateIn,
         gateInBias,    gateOut,         gateOutBias,  keyFilter,
         valueFilter,   learned,         headLearned,  keyPhi.position,
         keyPhi.in,     keyPhi.inBias,   keyPhi.out,   valuePhi.position,
         valuePhi.in,   valuePhi.inBias, valuePhi.out, valuePhi.outBias});
  }
  std::vector<at::Tensor> mlpWeights() const {
    return defined({mlpNorm, mlpIn, mlpGate, mlpOut});
  }

private:
  static std::vector<at::Tensor> defined(std::vector<at::Tensor> all) {
    std::erase_if(all, [](const at::Tensor &x) { return !x.defined(); });
    return all;
  }
};

} // namespace tessera::models
