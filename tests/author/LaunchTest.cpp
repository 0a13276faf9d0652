// tests/author/LaunchTest.cpp - kernels/tutorials/dilated_window.py from C++.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Kernel.h"
#include "runtime/launch/Describe.h"
#include "tests/unit/support/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

using namespace tessera;

namespace {

constexpr int64_t length = 45, group = 2, heads = 2, dim = 16, keys = 5,
                  step = 3;

// Plain fp64 attention to keys t, t - step, ...
void expected(const std::vector<float> &q, const std::vector<float> &k,
              const std::vector<float> &v, int64_t t, int64_t head,
              std::vector<double> &out) {
  const int64_t kv = head / group;
  std::vector<std::pair<int64_t, double>> weights;
  double total = 0;
  for (int64_t i = 0, pos = t; i < keys && pos >= 0; ++i, pos -= step) {
    double score = 0;
    for (int64_t d = 0; d < dim; ++d)
      score += double(q[size_t((t * heads * group + head) * dim + d)]) *
               double(k[size_t((pos * heads + kv) * dim + d)]);
    weights.emplace_back(pos, std::exp(score / std::sqrt(double(dim))));
    total += weights.back().second;
  }
  out.assign(dim, 0);
  for (const auto &[pos, weight] : weights)
    for (int64_t d = 0; d < dim; ++d)
      out[size_t(d)] +=
          weight / total * double(v[size_t((pos * heads + kv) * dim + d)]);
}

TEST(Launch, DilatedWindow) {
  TemporaryFolder folder;
  ::setenv("TESSERA_CACHE_DIR", (folder.path() / "cache").c_str(), 1);
  const std::string file =
      TESSERA_SOURCE "/kernels/tutorials/dilated_window.py";
  auto filled = [](int64_t count, int seed) {
    std::vector<float> values(static_cast<size_t>(count));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = float(std::sin(double(i * 7 + size_t(seed) * 31) * 0.7));
    return values;
  };
  std::vector<float> q = filled(length * heads * group * dim, 1),
                     k = filled(length * heads * dim, 2),
                     v = filled(length * heads * dim, 3);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> o(q.size(), nan), lse(size_t(heads * group * length), nan);
  std::vector<int32_t> starts = {0, int32_t(length)};
  const int64_t row = heads * group * dim, keyRow = heads * dim;
  const std::vector<Arg> args = {Pointer{q.data(), DType::FP32},
                                 Pointer{k.data(), DType::FP32},
                                 Pointer{v.data(), DType::FP32},
                                 Pointer{o.data(), DType::FP32},
                                 Pointer{lse.data(), DType::FP32},
                                 Pointer{starts.data(), DType::I32},
                                 1 / std::sqrt(double(dim)),
                                 length,
                                 row,
                                 dim,
                                 keyRow,
                                 dim,
                                 keyRow,
                                 dim,
                                 row,
                                 dim};
  const Constexprs constants = {{"G", group}, {"W", keys}, {"STEP", step},
                                {"D", dim},   {"DP", dim}, {"E", dim},
                                {"EP", dim}};
  const Kernel kernel = Kernel::fromFile(file, "dilated_window");
  // BM and BN are those of its first `# tessera: cpu(...)`.
  const auto chosen = kernel.configuration(args, constants);
  EXPECT_EQ(std::get<int64_t>(chosen.at("BM")), 64);
  const Grid grid = runtime::gridOf(
      *runtime::describeKernel(file, "dilated_window"),
      {{"S", length}, {"G", group}, {"BM", 64}, {"H", heads}, {"B", 1}});
  EXPECT_EQ(grid, (Grid{2, 2, 1}));
  kernel.launch(grid, args, constants);
  std::vector<double> want;
  for (int64_t t = 0; t < length; ++t)
    for (int64_t head = 0; head < heads * group; ++head) {
      expected(q, k, v, t, head, want);
      for (int64_t d = 0; d < dim; ++d)
        ASSERT_NEAR(o[size_t((t * heads * group + head) * dim + d)],
                    want[size_t(d)], 2e-6)
            << t << " " << head << " " << d;
    }
}

} // namespace
