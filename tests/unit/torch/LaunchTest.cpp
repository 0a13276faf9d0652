// tests/unit/torch/LaunchTest.cpp - tests of runtime/torch/Launch.h through
// the op tessera::launch. Copyright the tessera authors.
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

// A kernel of 16 arguments, tensors first, as the op passes them; n says
// whether it does y[0] = x[0] + s.
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

TEST_F(LaunchOp, ConstexprsAreNamesAndIntegers) {
  launch(" G=4,W = 512, D=64,, DP=64, E=64, EP=64, BM=32,");
  EXPECT_EQ(tensors[1][0].item<float>(), 1.125f);
  for (const char *bad :
       {"G", "=4", "G=", "G=4x", "G=4 4", "G=1.5", "G=99999999999999999999"})
    EXPECT_NE(failure(bad).find("write NAME=integer"), std::string::npos)
        << failure(bad);
}
