// tests/numeric/GoldenTest.cpp - the ops on the golden case of the
// specification.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/numeric/Harness.h"

#include <array>

using namespace tessera;
using namespace tessera::numeric;

namespace {

at::Tensor fill(std::vector<int64_t> sizes, int64_t a, int64_t b) {
  at::Tensor tensor = noise(std::move(sizes), at::kFloat, 0);
  float *data = tensor.mutable_data_ptr<float>();
  for (int64_t i = 0; i < tensor.numel(); ++i)
    data[i] = static_cast<float>(
        4 * (static_cast<double>((i * a + b) % 97) / 97 - 0.5));
  return tensor;
}

struct Row {
  int64_t t;
  std::array<float, 3> scores;
  std::array<float, 4> compressed, selected, window; // head 0, then head 1
};

const std::vector<Row> rows = {
    {2,
     {0, 0, 0},
     {0, 0, 0, 0},
     {-1.515887f, -1.142843f, -0.304725f, 0.344932f},
     {-1.158862f, -0.374100f, 0.764031f, -1.462086f}},
    {5,
     {2.764473f, 1.235527f, 0},
     {0.017187f, 0.295537f, 0.040450f, 0.318801f},
     {-0.604594f, -0.720664f, 0.297692f, 0.997525f},
     {-0.010674f, 0.104090f, -0.929753f, 0.507470f}},
    {9,
     {1.557075f, 1.923786f, 0.519139f},
     {0.134842f, 0.071435f, 0.118588f, 0.219557f},
     {1.467765f, -1.419306f, -0.324212f, 0.237239f},
     {-0.043414f, 0.466234f, 0.190548f, 0.244876f}},
    {11,
     {1.272685f, 1.556273f, 1.171042f},
     {0.084646f, -0.022069f, -0.052061f, 0.094358f},
     {-0.732373f, -0.079498f, -0.059502f, 0.005124f},
     {1.729845f, -0.600302f, 0.661679f, -0.239439f}}};

TEST(GoldenEdges, Branches) {
  const Shape shape{{12}, 1, 2, 4, 2};
  const at::Tensor cu = shape.cuSeqlens();
  const at::Tensor q = fill({12, 2, 4}, 13, 5);
  const at::Tensor cuCmp = callTensor("compressed_offsets", {cu, 4, 2});
  const auto compress = [&](const at::Tensor &x) {
    return callTensor("nsa_compress",
                      {x, c10::IValue(), cu, cuCmp, 12, 5, 4, 2});
  };
  const at::Tensor k = compress(fill({12, 1, 4}, 29, 7)),
                   v = compress(fill({12, 1, 2}, 31, 3));
  const auto compressed =
      callOp("nsa_compressed_attention", {q, k, v, cu, cuCmp, 12, 4, 2});
  const auto chosen = callOp("nsa_select_scores",
                             {q, k, compressed[1], cu, cuCmp, 12, 4, 2, 4, 3});
  const at::Tensor selected =
      callTensor("nsa_selected_attention",
                 {q, fill({12, 1, 4}, 17, 11), fill({12, 1, 2}, 19, 2),
                  chosen[0], cu, 12, 4});
  const at::Tensor window =
      callTensor("nsa_window_attention", {q, fill({12, 1, 4}, 23, 1),
                                          fill({12, 1, 2}, 37, 9), cu, 12, 3});
  const at::Tensor ranges = callTensor("nsa_ranges", {chosen[0], cu, 12, 4});

  const auto at = [](const at::Tensor &x, int64_t i) {
    return x.const_data_ptr<float>()[i];
  };
  for (const Row &row : rows) {
    SCOPED_TRACE(row.t);
    for (int64_t j = 0; j <= row.t / 4; ++j)
      EXPECT_NEAR(at(chosen[1].toTensor(), row.t * 3 + j), row.scores[j], 2e-6);
    for (int64_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(at(compressed[0].toTensor(), row.t * 4 + i),
                  row.compressed[i], 2e-6);
      EXPECT_NEAR(at(selected, row.t * 4 + i), row.selected[i], 2e-6);
      EXPECT_NEAR(at(window, row.t * 4 + i), row.window[i], 2e-6);
    }
    // Every block is selected: one range up to the token.
    const int32_t *range = ranges.const_data_ptr<int32_t>() + row.t * 6;
    EXPECT_EQ(range[0], 0);
    EXPECT_EQ(range[1], row.t + 1);
    EXPECT_EQ(range[2] + range[3], 0);
  }
}

} // namespace
