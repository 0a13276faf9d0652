// ops/nn/Product.cpp - matrix products whose bits do not depend on the number
// of threads.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/Product.h"

#include "ops/launch/EmptyTensor.h"
#include "ops/launch/Threads.h"
#include "runtime/device/cpu/Parallel.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/mm.h>
#include <algorithm>
#include <torch/library.h>

namespace tessera::runtime {

namespace {
// A band takes one thread some 10 microseconds or more: waking another thread
// takes about as long. More bands than this are not needed: threads that end
// early take the next one.
constexpr int64_t bandOperations = 2 << 20, mostBands = 64, bandRows = 16;
} // namespace

// Rows of a band of a product of M x K by K x N: a multiple of bandRows.
static int64_t rowsOfBand(int64_t m, int64_t k, int64_t n) {
  const int64_t each = std::max<int64_t>(1, 2 * k * n);
  const int64_t rows = std::max({(bandOperations + each - 1) / each,
                                 (m + mostBands - 1) / mostBands, bandRows});
  return (rows + bandRows - 1) / bandRows * bandRows;
}

void productOut(const at::Tensor &out, const at::Tensor &a,
                const at::Tensor &b) {
  at::AutoDispatchBelowADInplaceOrView below;
  const int64_t m = a.size(0), rows = rowsOfBand(m, a.size(1), b.size(1));
  if (!a.is_cpu() || m <= rows) {
    at::Tensor all = out;
    at::mm_out(all, a, b);
    return;
  }
  runTasks((m + rows - 1) / rows, [&](int64_t begin, int64_t end) {
    at::AutoDispatchBelowADInplaceOrView inside;
    useOneTorchThread();
    for (int64_t band = begin; band < end; ++band) {
      const int64_t first = band * rows, count = std::min(rows, m - first);
      at::Tensor part = out.narrow(0, first, count);
      at::mm_out(part, a.narrow(0, first, count), b);
    }
  });
}

at::Tensor product(const at::Tensor &a, const at::Tensor &b) {
  at::Tensor out = emptyTensor({a.size(0), b.size(1)}, a.options());
  productOut(out, a, b);
  return out;
}

TORCH_LIBRARY_IMPL(tessera_internal, CompositeExplicitAutograd, m) {
  m.impl("product", product);
}

} // namespace tessera::runtime
