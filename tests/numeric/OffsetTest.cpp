// tests/numeric/OffsetTest.cpp - tensors that span more than 2^31 elements.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/numeric/Harness.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/from_blob.h>
#include <sys/mman.h>

using namespace tessera;
using namespace tessera::numeric;

namespace {

// The values of a tensor, its rows `stride` elements apart in a sparse mapping.
at::Tensor farApart(const at::Tensor &values, int64_t stride) {
  const size_t bytes =
      static_cast<size_t>(values.size(0) * stride) * values.element_size();
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return {};
  at::Tensor spread = at::from_blob(
      memory, values.sizes(), {stride, values.stride(1), 1},
      [bytes](void *address) { munmap(address, bytes); }, values.options());
  spread.copy_(values);
  return spread;
}

class Offsets : public testing::TestWithParam<int64_t> {};

// The op copies rows of the largest distance, and reads the others in place.
TEST_P(Offsets, RowsFarApart) {
  const int64_t stride = GetParam();
  const Shape shape{{200}, 1, 2};
  const at::Tensor cu = shape.cuSeqlens();
  std::vector<at::Tensor> dense, sparse;
  for (int64_t heads : {2, 1, 1}) {
    dense.push_back(noise({200, heads, 16}, at::kFloat, 1 + dense.size()));
    sparse.push_back(farApart(dense.back(), stride));
    if (!sparse.back().defined())
      GTEST_SKIP() << "this system maps no 13 GB of unused memory";
    dense.back().requires_grad_();
    sparse.back().requires_grad_();
  }
  const at::Tensor weight = noise({200, 2, 16}, at::kFloat, 9);
  const auto run = [&](const std::vector<at::Tensor> &x) {
    const at::Tensor o =
        callTensor("dense_attention", {x[0], x[1], x[2], cu, 200});
    std::vector<at::Tensor> results = gradients({o}, {weight}, x);
    results.push_back(o);
    const at::Tensor cuCmp = callTensor("compressed_offsets", {cu, 16, 8});
    results.push_back(callTensor(
        "nsa_compress", {x[1], c10::IValue(), cu, cuCmp, 200, 24, 16, 8}));
    return results;
  };
  const auto want = run(dense), got = run(sparse);
  for (size_t i = 0; i < want.size(); ++i)
    EXPECT_TRUE(at::equal(got[i], want[i])) << i;
}

// With 2^24, the last of 200 rows starts beyond element 2^31.
INSTANTIATE_TEST_SUITE_P(Strides, Offsets,
                         testing::Values(int64_t{1} << 17,
                                         (int64_t{1} << 17) + 1,
                                         int64_t{1} << 24));

} // namespace
