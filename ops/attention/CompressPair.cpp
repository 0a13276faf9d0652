// ops/attention/CompressPair.cpp - NSA's compression of keys and values in one
// launch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/Autograd.h"
#include "ops/Check.h"
#include "ops/Register.h"
#include "ops/attention/Compress.h"
#include "ops/launch/EmptyTensor.h"
#include "ops/launch/Launch.h"

#include <ATen/ops/empty.h>

namespace tessera::runtime {
namespace {
namespace compress_pair_op {

using at::Tensor;
using MaybeTensor = std::optional<Tensor>;

constexpr const char *pairName = "nsa_compress_pair";

// Checks the arguments that checkCompression() does not check.
void checkPair(const Tensor &k, const Tensor &v, const MaybeTensor &filter,
               int64_t length) {
  checkRank(pairName, "v", v, 3);
  checkSameType(pairName, "v", v, "k", k);
  checkShape(pairName, "v", v, {k.size(0), k.size(1), v.size(2)},
             "[tokens, heads, value size] with the tokens and heads of k");
  if (filter) {
    checkFloating(pairName, "v_filter", *filter);
    checkShape(pairName, "v_filter", *filter, {length, v.size(2)},
               "[block_length, value size]");
  }
}

void pairConstants(Launch &launch, const Tensor &k, const Tensor &v,
                   const MaybeTensor &kFilter, const MaybeTensor &vFilter,
                   int64_t length, int64_t stride) {
  launch.constant("L", length).constant("STRIDE", stride);
  launch.padded("D", "DP", k.size(2)).padded("E", "EP", v.size(2));
  launch.constant("KCONV", kFilter.has_value());
  launch.constant("VCONV", vFilter.has_value());
}

std::tuple<Tensor, Tensor>
forwardPair(const Tensor &k, const Tensor &v, const MaybeTensor &kFilter,
            const MaybeTensor &vFilter, const Tensor &cuSeqlens,
            const Tensor &cuCmp, int64_t maxSeqlen, int64_t totalCmp,
            int64_t length, int64_t stride) {
  checkCompression(pairName, k, kFilter, cuSeqlens, cuCmp, maxSeqlen, length,
                   stride, "total_cmp", totalCmp);
  checkPair(k, v, vFilter, length);
  const Tensor keys = unitLast(k), values = unitLast(v);
  const Tensor wk = kFilter ? kFilter->contiguous() : keys, // not read
      wv = vFilter ? vFilter->contiguous() : values;
  Tensor outK = at::empty({totalCmp, k.size(1), k.size(2)}, k.options()),
         outV = at::empty({totalCmp, v.size(1), v.size(2)}, v.options());
  const int64_t sequences = cuSeqlens.numel() - 1;
  Launch launch("kernels/nsa/compress_fwd.py", "compress_pair_fwd");
  launch.tensor(keys).tensor(values).tensor(wk).tensor(wv);
  launch.tensor(outK).tensor(outV).tensor(cuSeqlens).tensor(cuCmp);
  launch.integer(sequences).strides(keys).strides(values);
  launch.strides(outK).strides(outV);
  pairConstants(launch, keys, values, kFilter, vFilter, length, stride);
  launch.sequence(maxSeqlen);
  launch.run(tileCount(totalCmp, launch.tile("BC"), sequences), 2 * k.size(1));
  return {outK, outV};
}

std::tuple<Tensor, Tensor, Tensor, Tensor>
backwardPair(const Tensor &gradK, const Tensor &gradV, const Tensor &k,
             const Tensor &v, const MaybeTensor &kFilter,
             const MaybeTensor &vFilter, const Tensor &cuSeqlens,
             const Tensor &cuCmp, int64_t maxSeqlen, int64_t length,
             int64_t stride) {
  checkRank(pairName, "grad_k", gradK, 3);
  checkCompression(pairName, k, kFilter, cuSeqlens, cuCmp, maxSeqlen, length,
                   stride, "the number of rows of grad_k", gradK.size(0));
  checkPair(k, v, vFilter, length);
  checkShape(pairName, "grad_k", gradK, {gradK.size(0), k.size(1), k.size(2)},
             "[compressed rows, heads, head size]");
  checkShape(pairName, "grad_v", gradV, {gradK.size(0), v.size(1), v.size(2)},
             "[compressed rows, heads, head size]");
  const Tensor keys = unitLast(k), values = unitLast(v);
  const Tensor dOutK = unitLast(gradK.to(k.scalar_type())),
               dOutV = unitLast(gradV.to(v.scalar_type()));
  const Tensor wk = kFilter ? kFilter->contiguous() : dOutK, // not read
      wv = vFilter ? vFilter->contiguous() : dOutV;
  Tensor dk = emptyTensor(k.sizes(), k.options()),
         dv = emptyTensor(v.sizes(), v.options());
  const int64_t sequences = cuSeqlens.numel() - 1;
  Launch launch("kernels/nsa/compress_bwd.py", "compress_pair_bwd_dx");
  launch.tensor(dOutK).tensor(dOutV).tensor(wk).tensor(wv);
  launch.tensor(dk).tensor(dv).tensor(cuSeqlens).tensor(cuCmp);
  launch.integer(sequences).strides(dOutK).strides(dOutV);
  launch.strides(dk).strides(dv);
  pairConstants(launch, keys, values, kFilter, vFilter, length, stride);
  launch.sequence(maxSeqlen);
  launch.run(tileCount(k.size(0), launch.tile("BT"), sequences), 2 * k.size(1));
  const auto filter = [&](const MaybeTensor &weight, const Tensor &x,
                          const Tensor &contiguous, const Tensor &grad) {
    return weight ? filterGradient(grad, x, contiguous, cuSeqlens, cuCmp,
                                   maxSeqlen, length, stride)
                  : at::empty({0}, x.options());
  };
  return {dk, dv, filter(kFilter, keys, wk, dOutK),
          filter(vFilter, values, wv, dOutV)};
}

std::tuple<Tensor, Tensor> metaPair(const Tensor &k, const Tensor &v,
                                    const MaybeTensor &, const MaybeTensor &,
                                    const Tensor &, const Tensor &, c10::SymInt,
                                    c10::SymInt totalCmp, int64_t, int64_t) {
  return {
      at::empty_symint({totalCmp, k.sym_size(1), k.sym_size(2)}, k.options()),
      at::empty_symint({totalCmp, v.sym_size(1), v.sym_size(2)}, v.options())};
}

std::tuple<Tensor, Tensor, Tensor, Tensor>
metaPairBack(const Tensor &, const Tensor &, const Tensor &k, const Tensor &v,
             const MaybeTensor &kFilter, const MaybeTensor &vFilter,
             const Tensor &, const Tensor &, c10::SymInt, int64_t, int64_t) {
  const auto like = [](const Tensor &x) {
    return at::empty_symint(x.sym_sizes(), x.options());
  };
  return {like(k), like(v),
          kFilter ? like(*kFilter) : at::empty({0}, k.options()),
          vFilter ? like(*vFilter) : at::empty({0}, v.options())};
}

struct PairFunction : torch::autograd::Function<PairFunction> {
  static variable_list forward(AutogradContext *ctx, const Tensor &k,
                               const Tensor &v, const MaybeTensor &kFilter,
                               const MaybeTensor &vFilter,
                               const Tensor &cuSeqlens, const Tensor &cuCmp,
                               c10::SymInt maxSeqlen, c10::SymInt totalCmp,
                               int64_t length, int64_t stride) {
    at::AutoDispatchBelowADInplaceOrView below;
    static const auto op = findOp<std::tuple<Tensor, Tensor>(
        const Tensor &, const Tensor &, const MaybeTensor &,
        const MaybeTensor &, const Tensor &, const Tensor &, c10::SymInt,
        c10::SymInt, int64_t, int64_t)>(pairName);
    ctx->save_for_backward({k, v, kFilter.value_or(Tensor()),
                            vFilter.value_or(Tensor()), cuSeqlens, cuCmp});
    ctx->saved_data["max_seqlen"] = maxSeqlen;
    ctx->saved_data["length"] = length;
    ctx->saved_data["stride"] = stride;
    auto [outK, outV] = op.call(k, v, kFilter, vFilter, cuSeqlens, cuCmp,
                                maxSeqlen, totalCmp, length, stride);
    return {outK, outV};
  }

  static variable_list backward(AutogradContext *ctx, variable_list grads) {
    static const auto op = findOp<std::tuple<Tensor, Tensor, Tensor, Tensor>(
        const Tensor &, const Tensor &, const Tensor &, const Tensor &,
        const MaybeTensor &, const MaybeTensor &, const Tensor &,
        const Tensor &, c10::SymInt, int64_t, int64_t)>(
        "nsa_compress_pair_backward");
    const variable_list saved = ctx->get_saved_variables();
    const auto filter = [&](size_t i) {
      return saved[i].defined() ? MaybeTensor(saved[i]) : std::nullopt;
    };
    auto [dk, dv, dwk, dwv] = op.call(
        grads[0], grads[1], saved[0], saved[1], filter(2), filter(3), saved[4],
        saved[5], ctx->saved_data["max_seqlen"].toSymInt(),
        ctx->saved_data["length"].toInt(), ctx->saved_data["stride"].toInt());
    variable_list result{dk, dv, filter(2) ? dwk : Tensor(),
                         filter(3) ? dwv : Tensor()};
    result.resize(10);
    return result;
  }
};

std::tuple<Tensor, Tensor>
autogradPair(const Tensor &k, const Tensor &v, const MaybeTensor &kFilter,
             const MaybeTensor &vFilter, const Tensor &cuSeqlens,
             const Tensor &cuCmp, c10::SymInt maxSeqlen, c10::SymInt totalCmp,
             int64_t length, int64_t stride) {
  const variable_list out =
      PairFunction::apply(k, v, kFilter, vFilter, cuSeqlens, cuCmp, maxSeqlen,
                          totalCmp, length, stride);
  return {out[0], out[1]};
}

TESSERA_AUTOGRAD_OP(pairName, forwardPair, metaPair, autogradPair);
TESSERA_OP("nsa_compress_pair_backward", backwardPair, metaPairBack);

} // namespace compress_pair_op
} // namespace
} // namespace tessera::runtime
