// tests/unit/ops/LaunchTest.cpp - tests of ops/launch/Launch.h through the op
// tessera::launch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/File.h"
#include "tests/unit/support/Allocations.h"
#include "tests/unit/support/TemporaryFolder.h"
#include "tools/bench/LaunchKernel.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>

#include <gtest/gtest.h>

#include <string>
#include <vector>

using namespace tessera;

namespace {

using Signature = void(c10::string_view, c10::string_view, at::TensorList,
                       at::ArrayRef<c10::Scalar>, c10::SymIntArrayRef,
                       c10::string_view);

const c10::TypedOperatorHandle<Signature> &launchOp() {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("tessera::launch", "")
                             .typed<Signature>();
  return op;
}

// A kernel of 16 arguments, tensors first, as the op passes them; it computes
// y[0] = x[0] + s if n allows it.
class LaunchOp : public testing::Test {
protected:
  LaunchOp() {
    std::string text = launchKernel;
    const std::string order = "x, y, n, s, wide, lse, cu, T,";
    text.replace(text.find(order), order.size(),
                 "x, y, lse, cu, n, s, wide, T,");
    writeFile(path, text);
  }
  void launch(const char *constexprs = "G=4, W=512, D=64, DP=64, E=64, EP=64") {
    const c10::SymInt grid[] = {1};
    launchOp().call(path, "add", tensors, scalars, grid, constexprs);
  }
  std::string failure(const char *constexprs) {
    try {
      launch(constexprs);
    } catch (const std::exception &error) {
      return error.what();
    }
    return "no error";
  }

  const TemporaryFolder folder;
  const std::string path = folder.path() / "launch.py";
  std::vector<at::Tensor> tensors = {at::ones(64), at::zeros(64), at::zeros(64),
                                     at::zeros(64, at::kInt)};
  std::vector<c10::Scalar> scalars = {
      int64_t(1),   0.125,       int64_t(1) << 40, int64_t(512),
      int64_t(192), int64_t(64), int64_t(96),      int64_t(32),
      int64_t(96),  int64_t(32), int64_t(192),     int64_t(64)};
};

} // namespace

TEST_F(LaunchOp, AllocatesNothingOnceItWasMade) {
  launch();
  EXPECT_EQ(tensors[1][0].item<float>(), 1.125f);
  tensors[0].fill_(2);
  const uint64_t before = allocationsOfThread();
  launch();
  const uint64_t after = allocationsOfThread();
  EXPECT_EQ(after - before, 0u);
  EXPECT_EQ(tensors[1][0].item<float>(), 2.125f);
}

TEST_F(LaunchOp, HasNoGradient) {
  tensors[0].requires_grad_();
  EXPECT_NE(failure("G=4, W=512, D=64, DP=64, E=64, EP=64")
                .find("a raw launch has no gradient"),
            std::string::npos);
  const at::NoGradGuard none;
  launch();
  EXPECT_EQ(tensors[1][0].item<float>(), 1.125f);
}

TEST_F(LaunchOp, ConstexprsAreNamesAndValues) {
  launch(" G=4,W = 512, D=2**6, DP=64, E=64, EP=64, BM=32, num_warps=2,");
  EXPECT_EQ(tensors[1][0].item<float>(), 1.125f);
  for (const char *bad : {"G", "=4", "G=", "G=4x", "G=4 4", "G=4,,W=1", "**4",
                          "G=4, G=4", "G=4)(", "4"})
    EXPECT_NE(failure(bad).find("write NAME=value"), std::string::npos)
        << failure(bad);
  // A name is a function of the kernel's file.
  EXPECT_NE(failure("G=unknown, W=512, D=64, DP=64, E=64, EP=64")
                .find("has no function `unknown`"),
            std::string::npos);
  EXPECT_NE(failure("num_stages=-1").find("pass an integer from 0 to 64"),
            std::string::npos);
  EXPECT_NE(failure("num_warps=1.5").find("pass an integer from 1 to 64"),
            std::string::npos);
}

TEST_F(LaunchOp, ConstexprsOfEveryKind) {
  writeFile(path, R"(import triton
import triton.language as tl

@triton.jit
def kinds(y, flag, TEXT: tl.constexpr, EPS: tl.constexpr, TYPE: tl.constexpr, NONE: tl.constexpr,
          YES: tl.constexpr):
    value = tl.full((1,), EPS, TYPE).to(tl.float64).sum(0)
    if TEXT == "a, b=\"c\"":
        value += 10
    if NONE is None:
        value += 100
    if YES == True:
        value += 1000
    if flag:
        value += 10000
    tl.store(y, value)
)");
  tensors = {at::zeros(1, at::kDouble)};
  scalars = {true};
  const c10::SymInt grid[] = {1};
  launchOp().call(path, "kinds", tensors, scalars, grid,
                  R"(TEXT="a, b=\"c\"", EPS=0.25, TYPE=tl.float16, NONE=None, )"
                  "YES=True");
  EXPECT_EQ(tensors[0].item<double>(), 11110.25);
}
