// ops/nn/Norm.cpp - functions that rms_norm and residual_norm share.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/Norm.h"

#include "ops/Check.h"

#include <ATen/ops/empty.h>

namespace tessera::runtime {

using at::Tensor;

Tensor normRows(const Tensor &x) {
  return unitLast(x.reshape({-1, x.size(-1)}));
}

void checkNorm(const char *op, const Tensor &x, const Tensor &weight) {
  checkFloating(op, "x", x);
  TESSERA_CHECK(x.dim() >= 1 && x.size(-1) > 0, op, "x has shape ", x.sizes(),
                "; its last dimension is normalized and must not be empty");
  checkFloating(op, "weight", weight);
  checkShape(op, "weight", weight, {x.size(-1)}, "[last dimension of x]");
}

Tensor emptyRstd(const Tensor &x) {
  return at::empty({x.numel() / x.size(-1)}, x.options().dtype(at::kFloat));
}

Tensor emptyRstdMeta(const Tensor &x) {
  c10::SymInt count = 1;
  for (int64_t i = 0; i + 1 < x.dim(); ++i)
    count = count * x.sym_size(i);
  return at::empty_symint({count}, x.options().dtype(at::kFloat));
}

Tensor runNormBackward(Launch &launch, const Tensor &weight,
                       const Tensor &rstd) {
  const int64_t dim = weight.size(0);
  const int64_t parts =
      ceilDiv(rstd.size(0), launch.tile("BR") * launch.tile("STEPS"));
  Tensor partial = at::empty({parts, dim}, rstd.options());
  launch.bindScratch(partial).run(parts);

  Tensor dweight = at::empty(weight.sizes(), weight.options());
  Launch reduce("kernels/nn/reduce_rows.py", "reduce_rows");
  reduce.tensor(partial).tensor(dweight).integer(parts).integer(dim);
  reduce.run(ceilDiv(dim, reduce.tile("BC")));
  return dweight;
}

std::tuple<Tensor, Tensor> normGradientsMeta(const Tensor &x,
                                             const Tensor &weight) {
  return {at::empty_symint(x.sym_sizes(), x.options()),
          at::empty_symint(weight.sym_sizes(), weight.options())};
}

} // namespace tessera::runtime
