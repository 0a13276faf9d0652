// models/TorchKernels.cpp - implements the model's operations in plain
// LibTorch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Computes attention with masks, for a fixed number of queries at a time. So
// the memory is linear in the sequence length.
#include "models/Kernels.h"
#include "models/NsaMasks.h"
#include "models/NsaRows.h"
#include "models/RopeTable.h"

#include <ATen/ATen.h>
#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::models {
namespace {

constexpr int64_t queryRows = 512; ///< Queries that are processed at a time.

/// Converts [T, H, D] to [B, H, S, D].
at::Tensor byHead(const at::Tensor &x, const Packing &p) {
  return x.view({p.sequences, p.length, x.size(1), x.size(2)}).transpose(1, 2);
}

/// Converts [B, H, S, D] to [T, H, D].
at::Tensor byToken(const at::Tensor &x) {
  return x.transpose(1, 2).reshape({x.size(0) * x.size(2), x.size(1), -1});
}

/// Converts narrow types to fp32, because compiled kernels also accumulate in
/// fp32 and use narrow types only for storage.
at::Tensor wide(const at::Tensor &x) {
  return x.defined() ? x.to(at::kFloat) : x;
}
NsaInputs wide(const NsaInputs &in) {
  return {wide(in.query),       wide(in.keyCmp),     wide(in.valueCmp),
          wide(in.keySel),      wide(in.valueSel),   wide(in.keyWin),
          wide(in.valueWin),    wide(in.gateLogits), wide(in.keyFilter),
          wide(in.valueFilter), in.without,          in.compressed};
}

/// Calls f(first token, number of tokens) for each packed sequence that is not
/// empty, and concatenates the results.
template <typename F>
at::Tensor eachSequence(const Packing &packing, F f) {
  std::vector<at::Tensor> parts;
  for (size_t i = 1; i < packing.starts.size(); ++i) {
    const int64_t first = packing.starts[i - 1];
    const int64_t count = packing.starts[i] - first;
    if (count > 0)
      parts.push_back(f(first, count));
  }
  return at::cat(parts);
}

class TorchKernels final : public Kernels {
public:
  at::Tensor rmsNorm(const at::Tensor &x, const at::Tensor &weight,
                     double epsilon) override {
    const at::Tensor y = wide(x);
    return (y * at::rsqrt(y.square().mean(-1, true) + epsilon) * wide(weight))
        .to(x.scalar_type());
  }

  at::Tensor rope(const at::Tensor &x, const Packing &packing,
                  const Rope &positions) override {
    const int64_t dim = x.size(2);
    if (!packing.starts.empty())
      return eachSequence(packing, [&](int64_t first, int64_t count) {
        return rope(x.narrow(0, first, count), Packing(1, count, {}),
                    positions);
      });
    const auto [cosine, sine] = rotation(packing, dim, positions);
    const at::Tensor pairs = x.unflatten(2, {dim / 2, 2});
    const at::Tensor even = pairs.select(-1, 0), odd = pairs.select(-1, 1);
    return at::stack({even * cosine - odd * sine, even * sine + odd * cosine},
                     -1)
        .flatten(2)
        .to(x.scalar_type());
  }

  at::Tensor denseAttention(const at::Tensor &queries, const at::Tensor &keys,
                            const at::Tensor &values,
                            const Packing &packing) override {
    if (!packing.starts.empty())
      return eachSequence(packing, [&](int64_t first, int64_t count) {
        return denseAttention(
            queries.narrow(0, first, count), keys.narrow(0, first, count),
            values.narrow(0, first, count), Packing(1, count, {}));
      });
    const at::Tensor q = wide(queries), k = wide(keys), v = wide(values);
    const int64_t kvHeads = k.size(1), group = q.size(1) / kvHeads;
    const at::Tensor query = groupHeads(byHead(q, packing), kvHeads);
    const at::Tensor key = shareKeys(byHead(k, packing), group);
    const at::Tensor value = shareKeys(byHead(v, packing), group);
    std::vector<at::Tensor> parts;
    for (int64_t a = 0; a < packing.length; a += queryRows) {
      const int64_t b = std::min(a + queryRows, packing.length);
      const at::Tensor scores =
          at::matmul(query.slice(2, a, b),
                     key.slice(2, 0, b).transpose(-1, -2)) /
          std::sqrt(double(q.size(-1)));
      const at::Tensor mask = additiveMask(windowVisible(b, a, b, 0));
      parts.push_back(
          at::matmul(at::softmax(scores + mask, -1), value.slice(2, 0, b)));
    }
    return ungroup(at::cat(parts, 2), packing).to(queries.scalar_type());
  }

  NsaResult nsaAttention(const NsaInputs &in, const ModelConfig &config,
                         const Packing &packing) override;

private:
  NsaResult nsaOfEach(const NsaInputs &in, const ModelConfig &config,
                      const Packing &packing);
  static at::Tensor ungroup(const at::Tensor &x, const Packing &packing) {
    return byToken(x.unflatten(0, {packing.sequences, -1}).flatten(1, 2));
  }

  /// Returns the cosines and sines of all tokens' angles, [T, 1, dim / 2], and
  /// caches them for the next layers and steps.
  std::pair<at::Tensor, at::Tensor>
  rotation(const Packing &packing, int64_t dim, const Rope &positions) {
    if (!cosine.defined() || sequences != packing.sequences ||
        length != packing.length || cosine.size(-1) != dim / 2) {
      const auto table = ropeTable(positions, dim, 0, packing.length);
      cosine = table.first.repeat({packing.sequences, 1}).unsqueeze(1);
      sine = table.second.repeat({packing.sequences, 1}).unsqueeze(1);
      sequences = packing.sequences;
      length = packing.length;
    }
    return {cosine, sine};
  }

  at::Tensor cosine, sine;
  int64_t sequences = 0, length = 0;
};

NsaResult TorchKernels::nsaOfEach(const NsaInputs &in,
                                  const ModelConfig &config,
                                  const Packing &packing) {
  NsaResult result;
  std::vector<at::Tensor> indices;
  int64_t block = 0; // first compressed key of the next sequence
  result.output = eachSequence(packing, [&](int64_t first, int64_t count) {
    const auto part = [&](const at::Tensor &x) {
      return x.narrow(0, first, count);
    };
    const int64_t blocks = config.nsa.compressedCount(count);
    const auto ofBlocks = [&](const at::Tensor &x) {
      return in.compressed ? x.narrow(0, block, blocks) : part(x);
    };
    const NsaInputs one = {
        part(in.query),    ofBlocks(in.keyCmp), ofBlocks(in.valueCmp),
        part(in.keySel),   part(in.valueSel),   part(in.keyWin),
        part(in.valueWin), part(in.gateLogits), in.keyFilter,
        in.valueFilter,    in.without,          in.compressed};
    block += blocks;
    NsaResult of = nsaAttention(one, config, Packing(1, count, config.nsa));
    if (of.indices.defined())
      indices.push_back(std::move(of.indices));
    return of.output;
  });
  if (!indices.empty())
    result.indices = at::cat(indices, 1);
  return result;
}

NsaResult TorchKernels::nsaAttention(const NsaInputs &inputs,
                                     const ModelConfig &config,
                                     const Packing &packing) {
  if (!packing.starts.empty())
    return nsaOfEach(inputs, config, packing);
  const NsaInputs in = wide(inputs);
  const NsaGeometry &g = config.nsa;
  const int64_t kvHeads = in.keyCmp.size(1);
  const int64_t group = in.query.size(1) / kvHeads;
  const at::Tensor query = groupHeads(byHead(in.query, packing), kvHeads);
  const auto share = [&](const at::Tensor &x) {
    return shareKeys(byHead(x, packing), group);
  };
  const auto shorten = [&](const at::Tensor &x, const at::Tensor &filter) {
    if (in.compressed)
      return shareKeys(
          x.unflatten(0, {packing.sequences, g.compressedCount(packing.length)})
              .transpose(1, 2),
          group);
    const at::Tensor heads = byHead(x, packing);
    if (g.compressedCount(packing.length) == 0)
      return shareKeys(heads.slice(2, 0, 0), group);
    return shareKeys(compress(heads, filter, g), group);
  };
  const at::Tensor keyCmp = shorten(in.keyCmp, in.keyFilter);
  const at::Tensor valueCmp = shorten(in.valueCmp, in.valueFilter);
  const at::Tensor keySel = share(in.keySel), valueSel = share(in.valueSel);
  const at::Tensor keyWin = share(in.keyWin), valueWin = share(in.valueWin);
  // [T, Hkv, 3] -> [3, B * Hkv, 1, S, 1]
  const at::Tensor gates =
      gateValues(in.gateLogits, config, in.without)
          .view({packing.sequences, packing.length, kvHeads, 3})
          .permute({3, 0, 2, 1})
          .flatten(1, 2)
          .unsqueeze(2)
          .unsqueeze(-1);
  std::vector<at::Tensor> outputs, indices;
  for (int64_t a = 0; a < packing.length; a += queryRows) {
    const int64_t b = std::min(a + queryRows, packing.length);
    const NsaRows rows{g, a, b, group};
    const at::Tensor q = query.slice(2, a, b);
    const at::Tensor gate = gates.slice(3, a, b);
    auto [output, blocks] = rows.compressed(q, keyCmp, valueCmp);
    output = output * gate[0];
    if (g.selectedBlocks) {
      output = output + rows.selected(q, keySel, valueSel, blocks) * gate[1];
      indices.push_back(blocks);
    }
    if (g.window)
      output = output + rows.windowed(q, keyWin, valueWin) * gate[2];
    outputs.push_back(output);
  }
  NsaResult result;
  result.output =
      ungroup(at::cat(outputs, 2), packing).to(inputs.query.scalar_type());
  if (!indices.empty())
    // [B * Hkv, S, n] -> [Hkv, T, n]
    result.indices = at::cat(indices, 1)
                         .unflatten(0, {packing.sequences, kvHeads})
                         .transpose(0, 1)
                         .flatten(1, 2)
                         .to(at::kInt);
  return result;
}

} // namespace

std::unique_ptr<Kernels> makeTorchKernels() {
  return std::make_unique<TorchKernels>();
}

} // namespace tessera::models
