// models/BlockMlp.cpp - computes the network of all blocks by one matrix
// product over all tokens and sums of slices of its result.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/BlockMlp.h"

#include "models/Kernels.h"
#include "models/SquaredRelu.h"

#include <ATen/ATen.h>

namespace tessera::models {
namespace {

/// Returns x [B, n, H, inputs] times the transposed weight [G, outputs,
/// inputs], which all heads share (G = 1) or each head has (G = H).
at::Tensor multiplied(const at::Tensor &x, const at::Tensor &weight) {
  if (weight.size(0) == 1)
    return at::linear(x, weight[0]);
  return at::einsum("bnhi,hoi->bnho", {x, weight});
}

at::Tensor activated(const at::Tensor &x, MlpKind kind) {
  return kind == MlpKind::SquaredRelu ? squaredRelu(x) : at::silu(x);
}

} // namespace

/// A block consists of l / d adjacent chunks of d tokens, and W1 vec(x) is a
/// sum over these chunks. One matrix product multiplies each chunk by the
/// columns of W1 for every offset in a block. So overlapping blocks do not copy
/// tokens. For l / d = 2 and W1 = [A B]:
///
///   chunks      c0       c1       c2       c3
///   products    A c0     A c1     A c2     A c3
///               B c0     B c1     B c2     B c3
///   blocks      A c0 + B c1,  A c1 + B c2,  A c2 + B c3
at::Tensor BlockMlp::apply(const at::Tensor &x, const NsaGeometry &g,
                           MlpKind activation) const {
  const int64_t count = g.compressedCount(x.size(1));
  if (count == 0)
    return x.slice(1, 0, 0);
  const int64_t places = g.blockLength / g.stride, chunks = count + places - 1;
  const int64_t hidden = in.size(1), channels = x.size(3);
  const at::Tensor chunked = x.narrow(1, 0, chunks * g.stride)
                                 .unflatten(1, {chunks, g.stride})
                                 .transpose(2, 3)
                                 .flatten(3); // [B, chunks, H, d * channels]
  const at::Tensor byPlace =
      in.view({in.size(0), hidden, places, g.stride * channels})
          .transpose(1, 2)
          .flatten(1, 2);
  const at::Tensor parts = multiplied(chunked, byPlace);
  // W1 vec(E) is the same for every block.
  at::Tensor sum = inBias + at::matmul(in, position.flatten());
  for (int64_t place = 0; place < places; ++place)
    sum = sum + parts.narrow(1, place, count).narrow(3, place * hidden, hidden);
  const at::Tensor y = multiplied(activated(sum, activation), out);
  return outBias.defined() ? y + outBias : y;
}

at::Tensor BlockMlp::apply(const at::Tensor &x, const Packing &packing,
                           const NsaGeometry &g, MlpKind activation) const {
  if (packing.starts.empty())
    return apply(x.unflatten(0, {packing.sequences, packing.length}), g,
                 activation)
        .flatten(0, 1);
  std::vector<at::Tensor> parts = {x.slice(0, 0, 0)};
  for (size_t i = 1; i < packing.starts.size(); ++i) {
    const int64_t first = packing.starts[i - 1];
    const int64_t length = packing.starts[i] - first;
    if (g.compressedCount(length) > 0)
      parts.push_back(
          apply(x.narrow(0, first, length).unsqueeze(0), g, activation)[0]);
  }
  return at::cat(parts);
}

} // namespace tessera::models
