// models/SelectionReference.cpp - attention to selected keys in plain torch, by
// masks over all keys, for comparisons.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/SelectionReference.h"

#include "models/NsaMasks.h"
#include "models/NsaRows.h"
#include "models/SelectedRows.h"

#include <ATen/ATen.h>
#include <cmath>

namespace tessera::models {
namespace {

using at::Tensor;
using runtime::PatternSelection;
using runtime::Scorer;
using runtime::Streams;

/// Keys and values of a softmax, [Hq, keys, d] with a copy for each query head,
/// and the mask of keys that each query attends to, bool [Hq, n, keys].
struct Stream {
  Tensor key, value, visible;
};

/// Returns the heads of stream `i` of x [n, streams * Hkv, d], repeated for
/// their query heads: [Hq, n, d].
Tensor headsOf(const Tensor &x, int64_t i, const PatternSelection &s,
               int64_t queryHeads) {
  const int64_t heads = x.size(1) / s.pairs();
  return x.narrow(1, i * heads, heads)
      .repeat_interleave(queryHeads / heads, 1)
      .transpose(0, 1);
}

/// Returns the compressed keys of x [Hq, n, d]; each is the mean of a block.
Tensor shortened(const Tensor &x, const NsaGeometry &g) {
  return x.size(1) < g.blockLength ? x.slice(1, 0, 0)
                                   : compress(x.unsqueeze(0), {}, g).squeeze(0);
}

/// Converts lists of indices, -1 padded, to a mask, bool [lists, n, count].
Tensor listed(const Tensor &indices, int64_t count) {
  std::vector<int64_t> shape = indices.sizes().vec();
  shape.back() = count + 1;
  return at::zeros(shape, at::kBool)
      .scatter_(-1, indices.to(at::kLong) + 1, true)
      .narrow(-1, 1, count);
}

std::vector<Stream> streamsOf(const SelectionInputs &in,
                              const PatternSelection &s,
                              const Tensor &indices) {
  const int64_t n = in.query.size(0), heads = in.query.size(1);
  const NsaGeometry g = geometryOf(s);
  const auto key = [&](int64_t i) { return headsOf(in.key, i, s, heads); };
  const auto value = [&](int64_t i) { return headsOf(in.value, i, s, heads); };
  const auto each = [&](const Tensor &lists) {
    return lists.repeat_interleave(heads / lists.size(0), 0);
  };
  const auto all = [&](const Tensor &mask) {
    return mask.expand({heads, n, -1});
  };
  const Tensor near = all(windowVisible(s.window, 0, n, 0));
  const auto selected = [&] { return each(selectedVisible(indices, g, 0, n)); };
  if (s.streams == Streams::One)
    return {{key(0), value(0), selected().logical_or(near)}};
  const Tensor k = shortened(key(0), g), v = shortened(value(0), g);
  Tensor complete = all(compressedVisible(g, 0, n, k.size(1)));
  if (s.streams == Streams::Gated)
    return {{k, v, complete},
            {key(1), value(1), selected()},
            {key(2), value(2), near}};
  if (s.scorer != Scorer::None)
    complete = complete.logical_and(each(listed(indices, k.size(1))));
  return {{k, v, complete}, {key(1), value(1), near}};
}

/// Returns the attention to the keys of a stream and the sink: [Hq, n, dv].
Tensor softmax(const SelectionInputs &in, const Stream &stream) {
  const int64_t keys = stream.key.size(1);
  Tensor logits =
      at::matmul(in.query.transpose(0, 1), stream.key.transpose(1, 2)) /
      std::sqrt(double(in.query.size(2)));
  Tensor visible = stream.visible;
  if (in.scoresOf) {
    logits = in.scoresOf(logits);
    visible = visible.logical_and(logits.isfinite());
  }
  // The mask is finite, because a softmax over only -inf is NaN.
  logits = logits.masked_fill(visible.logical_not(), -1e30);
  if (in.sink.defined())
    logits = at::cat(
        {logits, in.sink.view({-1, 1, 1}).expand({-1, in.query.size(0), 1})},
        -1);
  const Tensor any = visible.any(-1, true);
  return at::matmul(logits.softmax(-1).slice(-1, 0, keys) * any, stream.value);
}

} // namespace

Tensor attendBySelection(const SelectionInputs &in, const PatternSelection &s,
                         const Tensor &indices) {
  const std::vector<Stream> streams = streamsOf(in, s, indices);
  Tensor output;
  if (s.streams == Streams::Gated) {
    const int64_t group = in.query.size(1) / in.gates.size(1);
    const Tensor gates =
        in.gates.sigmoid().repeat_interleave(group, 1).transpose(0, 1);
    for (size_t i = 0; i < streams.size(); ++i) {
      const Tensor part =
          softmax(in, streams[i]) * gates.select(-1, int64_t(i)).unsqueeze(-1);
      output = output.defined() ? output + part : part;
    }
  } else {
    std::vector<Tensor> keys, values, visible;
    for (const Stream &one : streams) {
      keys.push_back(one.key);
      values.push_back(one.value);
      visible.push_back(one.visible);
    }
    output = softmax(
        in, {at::cat(keys, 1), at::cat(values, 1), at::cat(visible, 2)});
  }
  return output.transpose(0, 1);
}

} // namespace tessera::models
