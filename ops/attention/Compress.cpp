// ops/attention/Compress.cpp - NSA's compression: the mean or a depthwise
// convolution of token blocks.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/Compress.h"

#include "ops/Autograd.h"
#include "ops/Check.h"
#include "ops/Register.h"
#include "ops/launch/Launch.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/diff.h>
#include <ATen/ops/div.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

namespace tessera::runtime {
namespace {
namespace compress_op {

using at::Tensor;
using MaybeTensor = std::optional<Tensor>;

Tensor forward(const Tensor &x, const MaybeTensor &weight,
               const Tensor &cuSeqlens, const Tensor &cuCmp, int64_t maxSeqlen,
               int64_t totalCmp, int64_t length, int64_t stride) {
  const char *op = "nsa_compress";
  checkCompression(op, x, weight, cuSeqlens, cuCmp, maxSeqlen, length, stride,
                   "total_cmp", totalCmp);
  const Tensor input = unitLast(x);
  const Tensor filter =
      weight ? weight->contiguous() : input; // unused for the mean
  Tensor out = at::empty({totalCmp, x.size(1), x.size(2)}, x.options());
  const int64_t sequences = cuSeqlens.numel() - 1;
  Launch launch("kernels/nsa/compress_fwd.py", "compress_fwd");
  launch.tensor(input).tensor(filter).tensor(out).tensor(cuSeqlens).tensor(
      cuCmp);
  launch.integer(sequences)
      .strides(input)
      .strides(out)
      .constant("L", length)
      .constant("STRIDE", stride);
  launch.padded("D", "DP", x.size(2)).constant("CONV", weight.has_value());
  launch.sequence(maxSeqlen);
  launch.run(tileCount(totalCmp, launch.tile("BC"), sequences), x.size(1));
  return out;
}

std::tuple<Tensor, Tensor> backward(const Tensor &gradOut, const Tensor &x,
                                    const MaybeTensor &weight,
                                    const Tensor &cuSeqlens,
                                    const Tensor &cuCmp, int64_t maxSeqlen,
                                    int64_t length, int64_t stride) {
  const char *op = "nsa_compress_backward";
  checkRank(op, "grad", gradOut, 3);
  checkCompression(op, x, weight, cuSeqlens, cuCmp, maxSeqlen, length, stride,
                   "the number of rows of grad", gradOut.size(0));
  checkShape(op, "grad", gradOut, {gradOut.size(0), x.size(1), x.size(2)},
             "[compressed rows, heads, head size]");
  const Tensor input = unitLast(x),
               grad = unitLast(gradOut.to(x.scalar_type()));
  const Tensor filter =
      weight ? weight->contiguous() : grad; // unused for the mean
  Tensor dx = at::empty(x.sizes(), x.options());
  const int64_t sequences = cuSeqlens.numel() - 1;
  Launch launch("kernels/nsa/compress_bwd.py", "compress_bwd_dx");
  launch.tensor(grad).tensor(filter).tensor(dx).tensor(cuSeqlens).tensor(cuCmp);
  launch.integer(sequences)
      .strides(grad)
      .strides(dx)
      .constant("L", length)
      .constant("STRIDE", stride);
  launch.padded("D", "DP", x.size(2)).constant("CONV", weight.has_value());
  launch.sequence(maxSeqlen);
  launch.run(tileCount(x.size(0), launch.tile("BT"), sequences), x.size(1));
  Tensor dweight = weight ? filterGradient(grad, input, filter, cuSeqlens,
                                           cuCmp, maxSeqlen, length, stride)
                          : at::empty({0}, x.options());
  return {dx, dweight};
}

Tensor meta(const Tensor &x, const MaybeTensor &, const Tensor &,
            const Tensor &, c10::SymInt, c10::SymInt totalCmp, int64_t,
            int64_t) {
  return at::empty_symint({totalCmp, x.sym_size(1), x.sym_size(2)},
                          x.options());
}

std::tuple<Tensor, Tensor> metaBack(const Tensor &, const Tensor &x,
                                    const MaybeTensor &weight, const Tensor &,
                                    const Tensor &, c10::SymInt, int64_t,
                                    int64_t) {
  return {at::empty_symint(x.sym_sizes(), x.options()),
          weight ? at::empty_symint(weight->sym_sizes(), weight->options())
                 : at::empty({0}, x.options())};
}

struct Function : torch::autograd::Function<Function> {
  static Tensor forward(AutogradContext *ctx, const Tensor &x,
                        const MaybeTensor &weight, const Tensor &cuSeqlens,
                        const Tensor &cuCmp, c10::SymInt maxSeqlen,
                        c10::SymInt totalCmp, int64_t length, int64_t stride) {
    at::AutoDispatchBelowADInplaceOrView below;
    static const auto op = findOp<Tensor(
        const Tensor &, const MaybeTensor &, const Tensor &, const Tensor &,
        c10::SymInt, c10::SymInt, int64_t, int64_t)>("nsa_compress");
    ctx->save_for_backward({x, weight.value_or(Tensor()), cuSeqlens, cuCmp});
    ctx->saved_data["max_seqlen"] = maxSeqlen;
    ctx->saved_data["length"] = length;
    ctx->saved_data["stride"] = stride;
    return op.call(x, weight, cuSeqlens, cuCmp, maxSeqlen, totalCmp, length,
                   stride);
  }

  static variable_list backward(AutogradContext *ctx, variable_list grads) {
    static const auto op = findOp<std::tuple<Tensor, Tensor>(
        const Tensor &, const Tensor &, const MaybeTensor &, const Tensor &,
        const Tensor &, c10::SymInt, int64_t, int64_t)>(
        "nsa_compress_backward");
    const variable_list saved = ctx->get_saved_variables();
    const MaybeTensor weight =
        saved[1].defined() ? MaybeTensor(saved[1]) : std::nullopt;
    auto [dx, dweight] = op.call(grads[0], saved[0], weight, saved[2], saved[3],
                                 ctx->saved_data["max_seqlen"].toSymInt(),
                                 ctx->saved_data["length"].toInt(),
                                 ctx->saved_data["stride"].toInt());
    return {dx, weight ? dweight : Tensor(), {}, {}, {}, {}, {}, {}};
  }
};

Tensor autograd(const Tensor &x, const MaybeTensor &weight,
                const Tensor &cuSeqlens, const Tensor &cuCmp,
                c10::SymInt maxSeqlen, c10::SymInt totalCmp, int64_t length,
                int64_t stride) {
  return Function::apply(x, weight, cuSeqlens, cuCmp, maxSeqlen, totalCmp,
                         length, stride);
}

Tensor offsets(const Tensor &cuSeqlens, int64_t length, int64_t stride) {
  const char *op = "compressed_offsets";
  checkBlocks(op, length, stride);
  checkInt32(op, "cu_seqlens", cuSeqlens);
  checkRank(op, "cu_seqlens", cuSeqlens, 1);
  TESSERA_CHECK(cuSeqlens.numel() == 0 || cuSeqlens[0].item<int>() == 0, op,
                "cu_seqlens starts with ", cuSeqlens[0].item<int>(),
                " and must start with 0");
  const Tensor falls = (cuSeqlens.diff() < 0).nonzero();
  TESSERA_CHECK(falls.numel() == 0, op, "cu_seqlens falls after entry ",
                falls[0].item<int64_t>(), "; it must not decrease");
  // Computes on the tensor's device, without a copy to the host.
  Tensor out = at::zeros(cuSeqlens.sizes(), cuSeqlens.options());
  const Tensor tokens = cuSeqlens.diff();
  const Tensor blocks =
      tokens.sub(length).div(stride, "floor").add(1).clamp_min(0);
  out.slice(0, 1).copy_(blocks.cumsum(0));
  return out;
}

// Returns the same on a GPU, without waiting for the lengths.
Tensor offsetsOnDevice(const Tensor &cuSeqlens, int64_t length,
                       int64_t stride) {
  const char *op = "compressed_offsets";
  checkBlocks(op, length, stride);
  checkInt32(op, "cu_seqlens", cuSeqlens);
  checkRank(op, "cu_seqlens", cuSeqlens, 1);
  const Tensor counts =
      at::div(at::diff(cuSeqlens) - length, stride, "floor").add_(1);
  return at::cat({at::zeros({1}, cuSeqlens.options()),
                  counts.clamp_min_(0).cumsum(0, at::kInt)});
}

Tensor metaOffsets(const Tensor &cuSeqlens, int64_t, int64_t) {
  return at::empty_symint(cuSeqlens.sym_sizes(), cuSeqlens.options());
}

TESSERA_AUTOGRAD_OP("nsa_compress", forward, meta, autograd);
TESSERA_OP("nsa_compress_backward", backward, metaBack);

TORCH_LIBRARY_IMPL(tessera, CPU, m) { m.impl("compressed_offsets", offsets); }
TORCH_LIBRARY_IMPL(tessera, CUDA, m) {
  m.impl("compressed_offsets", offsetsOnDevice);
}
TORCH_LIBRARY_IMPL(tessera, Meta, m) {
  m.impl("compressed_offsets", metaOffsets);
}

} // namespace compress_op
} // namespace

void checkCompression(const char *op, const at::Tensor &x,
                      const std::optional<at::Tensor> &weight,
                      const at::Tensor &cuSeqlens, const at::Tensor &cuCmp,
                      int64_t maxSeqlen, int64_t length, int64_t stride,
                      const char *name, int64_t rows) {
  checkRank(op, "x", x, 3);
  checkFloating(op, "x", x);
  checkBlocks(op, length, stride);
  checkSequences(op, cuSeqlens, maxSeqlen, x.size(0), "x", x);
  if (weight) {
    checkFloating(op, "weight", *weight);
    checkShape(op, "weight", *weight, {length, x.size(2)},
               "[block_length, head size]");
  }
  checkNotNegative(op, name, rows);
  checkCompressed(op, cuSeqlens, cuCmp, length, stride, name, rows);
}

at::Tensor filterGradient(const at::Tensor &grad, const at::Tensor &x,
                          const at::Tensor &weight, const at::Tensor &cuSeqlens,
                          const at::Tensor &cuCmp, int64_t maxSeqlen,
                          int64_t length, int64_t stride) {
  const int64_t heads = x.size(1), sequences = cuSeqlens.numel() - 1;
  if (grad.numel() == 0)
    return at::zeros(weight.sizes(), weight.options());
  Launch launch("kernels/nsa/compress_bwd.py", "compress_bwd_dw");
  launch.tensor(x)
      .tensor(grad)
      .scratch(at::kFloat)
      .tensor(cuSeqlens)
      .tensor(cuCmp);
  launch.integer(sequences)
      .strides(x)
      .strides(grad)
      .constant("L", length)
      .constant("STRIDE", stride);
  launch.padded("D", "DP", x.size(2)).sequence(maxSeqlen);
  const int64_t tiles = tileCount(grad.size(0), launch.tile("BC"), sequences);
  const int64_t parts = heads * tiles;
  at::Tensor partial =
      at::empty({parts, length * x.size(2)}, x.options().dtype(at::kFloat));
  launch.bindScratch(partial).run(tiles, heads);

  at::Tensor dweight = at::empty(weight.sizes(), weight.options());
  Launch reduce("kernels/nn/reduce_rows.py", "reduce_rows");
  reduce.tensor(partial).tensor(dweight).integer(parts).integer(
      partial.size(1));
  reduce.run(ceilDiv(partial.size(1), reduce.tile("BC")));
  return dweight;
}

} // namespace tessera::runtime
