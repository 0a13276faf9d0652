// ops/nn/Product.cpp - matrix products whose bits do not depend on the number
// of threads.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/Product.h"

#include "ops/launch/EmptyTensor.h"
#include "ops/launch/Threads.h"
#include "runtime/device/cpu/Parallel.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/mm.h>
#include <algorithm>
#include <functional>
#include <span>
#include <torch/library.h>
#include <vector>

namespace tessera::runtime {

// Returns the number of rows of each band into which an M x K by K x N product
// is split. Each band reads and packs all of b, so narrow bands are slow: for
// 2,048 x 768 x 3,072 in fp32, bands of 256 rows take 1.1 times as long as one
// product, bands of 64 rows 1.3 times. A product of less than `smallest`
// operations takes about 20 microseconds and is not split.
static int64_t rowsOfBand(int64_t m, int64_t k, int64_t n) {
  constexpr int64_t smallest = 2 << 20, least = 64, most = 256, multiple = 16;
  if (2 * m * k * n < smallest)
    return std::max<int64_t>(m, 1);
  const int64_t quarter = (m + 3) / 4;
  return std::clamp((quarter + multiple - 1) / multiple * multiple, least,
                    most);
}

// Returns the rows of a band of a matrix with m rows, if other products keep
// the other threads busy: as few bands as `most` allows.
static int64_t rowsOfFewBands(int64_t m) {
  constexpr int64_t most = 256, multiple = 16;
  const int64_t bands = std::max<int64_t>((m + most - 1) / most, 1),
                rows = (m + bands - 1) / bands;
  return std::max<int64_t>((rows + multiple - 1) / multiple * multiple, 1);
}

// Calls run(first, count) for each band of rows of the product of a and b.
static void
forBands(const at::Tensor &a, const at::Tensor &b,
         const std::function<void(int64_t first, int64_t count)> &run) {
  at::AutoDispatchBelowADInplaceOrView below;
  const int64_t m = a.size(0), rows = rowsOfBand(m, a.size(1), b.size(1));
  if (!a.is_cpu() || m <= rows)
    return run(0, m);
  runTasks((m + rows - 1) / rows, [&](int64_t begin, int64_t end) {
    at::AutoDispatchBelowADInplaceOrView inside;
    useOneTorchThread();
    for (int64_t band = begin; band < end; ++band)
      run(band * rows, std::min(rows, m - band * rows));
  });
}

void productOut(const at::Tensor &out, const at::Tensor &a,
                const at::Tensor &b) {
  forBands(a, b, [&](int64_t first, int64_t count) {
    at::Tensor part = out.narrow(0, first, count);
    at::mm_out(part, a.narrow(0, first, count), b);
  });
}

void addProduct(const at::Tensor &sum, const at::Tensor &a,
                const at::Tensor &b) {
  forBands(a, b, [&](int64_t first, int64_t count) {
    at::Tensor part = sum.narrow(0, first, count);
    at::addmm_out(part, part, a.narrow(0, first, count), b);
  });
}

at::Tensor product(const at::Tensor &a, const at::Tensor &b) {
  at::Tensor out = emptyTensor({a.size(0), b.size(1)}, a.options());
  productOut(out, a, b);
  return out;
}

std::vector<at::Tensor> products(at::TensorList a, at::TensorList b) {
  TORCH_CHECK(a.size() == b.size(), "products: ", a.size(), " matrices times ",
              b.size());
  struct Band {
    size_t index;
    int64_t first, count;
  };
  std::vector<at::Tensor> out;
  std::vector<Band> bands;
  for (size_t i = 0; i < a.size(); ++i) {
    const int64_t m = a[i].size(0),
                  rows = a[i].is_cpu() ? rowsOfFewBands(m) : m;
    out.push_back(emptyTensor({m, b[i].size(1)}, a[i].options()));
    for (int64_t first = 0; first < m; first += rows)
      bands.push_back({i, first, std::min(rows, m - first)});
  }
  const auto run = [&](int64_t begin, int64_t end) {
    at::AutoDispatchBelowADInplaceOrView below;
    for (const Band &band :
         std::span(bands).subspan(size_t(begin), size_t(end - begin))) {
      at::Tensor part = out[band.index].narrow(0, band.first, band.count);
      at::mm_out(part, a[band.index].narrow(0, band.first, band.count),
                 b[band.index]);
    }
  };
  if (a.empty() || !a[0].is_cpu()) {
    run(0, int64_t(bands.size()));
  } else {
    runTasks(int64_t(bands.size()), [&](int64_t begin, int64_t end) {
      useOneTorchThread();
      run(begin, end);
    });
  }
  return out;
}

TORCH_LIBRARY_IMPL(tessera_internal, CompositeExplicitAutograd, m) {
  m.impl("product", product);
  m.impl("products", products);
}

} // namespace tessera::runtime
