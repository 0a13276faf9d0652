// models/NsaRows.cpp - computes NSA's branches as masked attention in plain
// torch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/NsaRows.h"

#include "models/NsaMasks.h"

#include <ATen/ATen.h>
#include <algorithm>
#include <cmath>

namespace tessera::models {

at::Tensor shareKeys(const at::Tensor &x, int64_t group) {
  return x.flatten(0, 1).unsqueeze(1).expand({-1, group, -1, -1});
}
at::Tensor groupHeads(const at::Tensor &q, int64_t kvHeads) {
  return q.unflatten(1, {kvHeads, q.size(1) / kvHeads}).flatten(0, 1);
}

at::Tensor maskedAttention(const at::Tensor &q, const at::Tensor &k,
                           const at::Tensor &v, const at::Tensor &mask) {
  // The CPU's fused attention needs equal head sizes of q, k and v.
  if (k.size(-1) == v.size(-1))
    return at::scaled_dot_product_attention(q, k, v, mask);
  const at::Tensor scores =
      at::matmul(q, k.transpose(-1, -2)) / std::sqrt(double(q.size(-1)));
  return at::matmul(at::softmax(scores + mask, -1), v);
}

at::Tensor compress(const at::Tensor &x, const at::Tensor &filter,
                    const NsaGeometry &g) {
  const at::Tensor blocks = x.unfold(2, g.blockLength, g.stride);
  if (!filter.defined())
    return blocks.mean(-1);
  return (blocks * filter.t()).sum(-1);
}

at::Tensor gateValues(const at::Tensor &given, const ModelConfig &config,
                      int without) {
  const at::Tensor logits = given / config.gateTemperature;
  at::Tensor gates = config.gateMode == GateMode::Softmax
                         ? at::softmax(logits, -1)
                         : at::sigmoid(logits);
  if (without >= 0) {
    at::Tensor keep = at::ones({3}, gates.options());
    keep.select(0, without).zero_();
    gates = gates * keep;
  }
  return gates;
}

std::pair<at::Tensor, at::Tensor>
NsaRows::compressed(const at::Tensor &q, const at::Tensor &k,
                    const at::Tensor &v) const {
  const auto [output, scores] = compressedAndScores(q, k, v);
  return {output, g.selectedBlocks ? selectBlocks(scores, g, first, last)
                                   : at::Tensor()};
}

std::pair<at::Tensor, at::Tensor>
NsaRows::compressedAndScores(const at::Tensor &q, const at::Tensor &k,
                             const at::Tensor &v) const {
  const int64_t count = std::min(g.compressedCount(last), k.size(2));
  const int64_t blocks = (last + g.selectionLength - 1) / g.selectionLength;
  at::Tensor output, scores;
  if (count == 0) {
    output =
        at::zeros({q.size(0), group, last - first, v.size(-1)}, q.options());
    scores = at::zeros({q.size(0), last - first, blocks}, q.options());
  } else {
    const at::Tensor visible = compressedVisible(g, first, last, count);
    // Queries without a visible key get a finite mask and the factor 0,
    // because a softmax over only -inf is NaN.
    const at::Tensor any = visible.any(-1, true).to(at::kFloat);
    const at::Tensor mask = at::zeros({last - first, count})
                                .masked_fill_(visible.logical_not(), -1e30);
    const at::Tensor logits =
        at::matmul(q, k.narrow(2, 0, count).transpose(-1, -2)) /
        std::sqrt(double(q.size(-1)));
    const at::Tensor p = at::softmax(logits + mask, -1) * any;
    output = at::matmul(p, v.narrow(2, 0, count));
    scores = at::matmul(p.detach().sum(1), scoreWeights(g, count, blocks));
  }
  return {output, scores};
}

at::Tensor NsaRows::selected(const at::Tensor &q, const at::Tensor &k,
                             const at::Tensor &v,
                             const at::Tensor &indices) const {
  const at::Tensor mask =
      additiveMask(selectedVisible(indices, g, first, last)).unsqueeze(1);
  return maskedAttention(q, k.slice(2, 0, last), v.slice(2, 0, last), mask);
}

at::Tensor NsaRows::windowed(const at::Tensor &q, const at::Tensor &k,
                             const at::Tensor &v) const {
  const int64_t start = std::max<int64_t>(0, first - g.window + 1);
  const at::Tensor mask =
      additiveMask(windowVisible(g.window, first, last, start))
          .unsqueeze(0)
          .unsqueeze(0);
  return maskedAttention(q, k.slice(2, start, last), v.slice(2, start, last),
                         mask);
}

} // namespace tessera::models
