// tests/unit/ops/LaunchNamesTest.cpp - tests of arguments by name in
// ops/launch/Launch.h.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/launch/Launch.h"
#include "support/File.h"
#include "tests/unit/support/TemporaryFolder.h"

#include <ATen/ATen.h>

#include <gtest/gtest.h>

#include <string>

using namespace tessera;

namespace {

class NamedLaunch : public testing::Test {
protected:
  NamedLaunch() {
    writeFile(path, R"(import triton
import triton.language as tl


# tessera: cpu(B=64)
@triton.jit
def named(x, part, y, n, scale, B: tl.constexpr):
    tl.store(part, tl.load(x) * scale)
    tl.store(y, tl.load(part) + n)
)");
  }
  std::string failure(runtime::Launch &launch) const {
    try {
      launch.run(1);
    } catch (const std::exception &error) {
      return error.what();
    }
    return "no error";
  }

  const TemporaryFolder folder;
  const std::string path = folder.path() / "named.py";
  const at::Tensor x = at::ones(4), y = at::zeros(4), part = at::zeros(4);
};

} // namespace

TEST_F(NamedLaunch, TakesArgumentsInAnyOrder) {
  runtime::Launch launch(path, "named");
  launch.real("scale", 3).tensor("y", y).scratch("part", at::kFloat);
  launch.integer("n", 5).tensor("x", x);
  EXPECT_EQ(launch.tile("B"), 64);
  launch.bindScratch(part).run(1);
  EXPECT_EQ(part[0].item<float>(), 3);
  EXPECT_EQ(y[0].item<float>(), 8);
  runtime::Launch again(path, "named");
  again.scratch("part", at::kFloat).real("scale", 2).tensor("y", y);
  again.integer("n", 5).tensor("x", x);
  again.tile("B");
  again.bindScratch(part).run(1);
  EXPECT_EQ(y[0].item<float>(), 7);
}

TEST_F(NamedLaunch, RefusesWrongNames) {
  runtime::Launch missing(path, "named");
  missing.tensor("x", x).tensor("y", y).integer("n", 5);
  EXPECT_NE(failure(missing).find("needs `part`, `scale`"), std::string::npos);
  runtime::Launch twice(path, "named");
  twice.tensor("x", x).tensor("x", x).tensor("y", y).integer("n", 5);
  twice.real("scale", 1);
  EXPECT_NE(failure(twice).find("is given `x` twice"), std::string::npos);
  runtime::Launch unknown(path, "named");
  unknown.tensor("x", x).tensor("y", y).tensor("part", part);
  unknown.integer("n", 5).real("scales", 1);
  EXPECT_NE(failure(unknown).find("has no argument `scales`"),
            std::string::npos);
  runtime::Launch mixed(path, "named");
  mixed.tensor("x", x).tensor("part", part).tensor("y", y);
  mixed.integer("n", 5).real(1);
  EXPECT_NE(failure(mixed).find("give all arguments by name or none"),
            std::string::npos);
}
