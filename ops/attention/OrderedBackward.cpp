// ops/attention/OrderedBackward.cpp - attention's backward pass in one GPU
// kernel.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/OrderedBackward.h"

#include "ops/Estimates.h"
#include "ops/launch/EmptyTensor.h"
#include "support/Error.h"
#include "support/Options.h"

#include <ATen/ops/zeros.h>

namespace tessera::runtime {

bool takesOrderedBackward(const Attention &a, int64_t parts) {
  const int64_t products = optionNumber(Option::BackwardProducts);
  if (products != 0 && products != 5 && products != 7)
    throw Error("TESSERA_BACKWARD_PRODUCTS=" + std::to_string(products) +
                    " is not a form of the backward pass",
                "set 5 for one kernel, 7 for two, or unset it");
  const bool fits = a.q.element_size() == 2 && !takesCpuKernels(a.q) &&
                    fitsOrderedBackward(a.group, a.keyDim, a.valueDim);
  return products != 7 && fits &&
         (products == 5 ||
          fillsOrderedBackward(a.keyHeads, a.k.size(0), parts));
}

at::Tensor emptyQuerySum(const Attention &a) {
  return emptyTensor(a.q.sizes(), a.q.options().dtype(at::kFloat));
}

at::Tensor finishedQuerySum(const Attention &a, const at::Tensor &sum) {
  const at::Tensor dq = emptyTensor(a.q.sizes(), a.q.options());
  Launch launch("kernels/nn/scaled.py", "scaled");
  launch.tensor("X", sum).tensor("Y", dq).real("factor", a.scale);
  launch.integer("n", sum.numel()).sequence(a.maxSeqlen);
  launch.run(ceilDiv(sum.numel(), launch.tile("BC")));
  return dq;
}

std::tuple<at::Tensor, at::Tensor>
launchOrdered(const Attention &a, const Branch &branch, const RowGradient &rows,
              const at::Tensor &sum, bool add, const char *file,
              const char *kernel) {
  const auto options =
      a.k.options().dtype(branch.gradients.value_or(a.k.scalar_type()));
  const at::Tensor dk = emptyTensor(a.k.sizes(), options);
  const at::Tensor dv = emptyTensor(a.v.sizes(), options);
  // One counter for each tile of queries of each head, after the ticket
  // counter. Both start at multiples of 16 bytes.
  const int64_t tiles =
      tileCount(a.tokens, kOrderedRows / a.group, a.sequences);
  const at::Tensor counters =
      at::zeros({4 + a.keyHeads * tiles}, a.cuSeqlens.options());
  Launch launch(file, kernel);
  addRows(launch, a, rows).rows("dq", sum).rows("dk", dk).rows("dv", dv);
  launch.tensor("TICKET", counters.narrow(0, 0, 4));
  launch.tensor("ADDED", counters.narrow(0, 4, a.keyHeads * tiles));
  launch.integer("tiles", tiles);
  applyArguments(launch, a, branch);
  if (add)
    launch.constant("ADD", 1);
  launch.run(a.keyHeads,
             tileCount(a.k.size(0), launch.tile("BN"), a.sequences) *
                 branch.parts);
  return {dk, dv};
}

} // namespace tessera::runtime
