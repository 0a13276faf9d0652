// tests/author/PlainFileTest.cpp - Triton files without a line of ours: run and
// compile take types and values from the command line.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "replay/Safetensors.h"
#include "tests/author/Author.h"

#include <cstring>

namespace tessera {
namespace {

using Plain = Author;

const char *const kKernel = R"(import torch
import triton
import triton.language as tl


def configurations():
    with torch.no_grad():
        return [triton.Config({"BLOCK": 64})]


@triton.autotune(configs=configurations(), key=["n"])
@triton.jit
def scale(x_ptr, out_ptr, n, factor, BLOCK: tl.constexpr, ACT: tl.constexpr, TYPE: tl.constexpr = None,
          TWICE: tl.constexpr = False):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n) * factor
    if ACT == "relu":
        x = tl.maximum(x, 0.0)
    if TWICE:
        x = x * 2
    if TYPE is not None:
        x = x.to(TYPE).to(tl.float32)
    tl.store(out_ptr + at, x, mask=at < n)


def launch(x):
    out = torch.empty_like(x)
    scale[(8,)](x, out, x.numel(), 2.0)
    return out
)";

std::vector<float> floats(const cases::StoredTensor &tensor) {
  std::vector<float> values(tensor.bytes.size() / 4);
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

TEST_F(Plain, Runs) {
  const std::string file = write("scale.py", kKernel);
  std::vector<float> x(1000);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(int(i % 17) - 8) / 3;
  cases::StoredTensor stored{"F32", {1000}, std::string(4000, '\0')};
  std::memcpy(stored.bytes.data(), x.data(), 4000);
  writeFile(path("in.safetensors"),
            cases::writeSafetensors({{"x_ptr", stored}}));
  const CommandResult result = run({"run",      file,
                                    "--arg",    "x_ptr=fp32[1000]",
                                    "--arg",    "out_ptr=fp32[10, 100]",
                                    "--arg",    "n=1000",
                                    "--arg",    "factor=0.5",
                                    "--arg",    "BLOCK=128",
                                    "--arg",    "ACT=\"relu\"",
                                    "--arg",    "TYPE=tl.bfloat16",
                                    "--arg",    "TWICE=True",
                                    "--grid",   "8",
                                    "--input",  path("in.safetensors"),
                                    "--output", path("out.safetensors"),
                                    "--repeat", "1"});
  expectFine(result);
  expectHas(result.output, "out_ptr: fp32 [10, 100]");
  const cases::Tensors out = cases::readSafetensors(
      readFile(path("out.safetensors")), "out.safetensors");
  ASSERT_TRUE(out.count("out_ptr"));
  const std::vector<float> got = floats(out.at("out_ptr"));
  ASSERT_EQ(got.size(), x.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], std::max(x[i], 0.0f), 0.02) << i;
}

// What the hint offers runs: sizes are numbers, Q, K and V tensors.
TEST_F(Plain, ExamplesFollowTheCustomOfNames) {
  const auto hintOf = [&](const std::string &parameters) {
    const std::string file =
        write("k.py", "import triton\nimport triton.language as tl\n\n\n"
                      "@triton.jit\ndef k(" +
                          parameters + "):\n    pass\n");
    return run({"compile", file}).errors;
  };
  expectHas(hintOf("a_ptr, M, N, K"),
            "-s \"a_ptr=*fp32:16, M=i32, N=i32, K=i32\"");
  expectHas(hintOf("X, W, M, N, K"),
            "-s \"X=*fp32:16, W=*fp32:16, M=i32, N=i32, K=i32\"");
  expectHas(hintOf("Q, K, T"), "-s \"Q=*fp32:16, K=*fp32:16, T=i32\"");
  expectHas(hintOf("Q, K, V, stride, T"),
            "-s \"Q=*fp32:16, K=*fp32:16, V=*fp32:16, stride=i32, T=i32\"");
}

TEST_F(Plain, ReportsWhatIsMissing) {
  const std::string file = write("scale.py", kKernel);
  CommandResult result = run({"run", file});
  expectRefused(result, "nothing says what to pass for `x_ptr`, `out_ptr`");
  expectHas(result.errors, "--arg x_ptr=fp32[1000] --arg out_ptr=fp32[1000] "
                           "--arg n=1000 --arg factor=1000 --arg BLOCK=64");
  const std::vector<std::string> whole = {"run",   file,
                                          "--arg", "x_ptr=fp32[1000]",
                                          "--arg", "out_ptr=fp32[1000]",
                                          "--arg", "n=1000",
                                          "--arg", "factor=2",
                                          "--arg", "BLOCK=128",
                                          "--arg", "ACT=\"\""};
  expectRefused(run(whole), "the number of programs of `");
  auto with = [&](const std::string &argument) {
    std::vector<std::string> command = whole;
    for (const char *more : {"--grid", "8", "--arg"})
      command.push_back(more);
    command.push_back(argument);
    return run(command);
  };
  expectRefused(with("y=3"), "has no argument `y`");
  expectRefused(with("x_ptr=fp23[10]"), "tensors have no type `fp23`");
  expectRefused(with("x_ptr=fp32[a]"), "`a` is not a size");
  expectRefused(with("BLOCK=fp32[10]"), "is a tl.constexpr, no tensor");
  expectRefused(with("n=\"text\""), "which is not a number");
  expectRefused(with("n=" + std::string(30, '9')), "does not fit");
}

TEST_F(Plain, Compiles) {
  const std::string file = write("scale.py", kKernel);
  const std::string signature =
      "x_ptr=*fp32:16, out_ptr=*fp32:16, n=i32, factor=fp32, BLOCK=128, "
      "ACT='relu', TYPE=tl.float16, TWICE=True";
  expectFine(run({"compile", file, "-s", signature, "-o", path("out")}));
  const CommandResult none = run({"compile", file, "-o", path("none")});
  expectRefused(none, "names no instances");
  expectHas(none.errors, "-s \"x_ptr=*fp32:16, out_ptr=*fp32:16, n=i32, "
                         "factor=i32, BLOCK=64, ACT=64\"");
  // Its configurations are not read, so the tile must be given.
  const CommandResult open =
      run({"run", file, "--arg", "x_ptr=fp32[10]", "--arg", "out_ptr=fp32[10]",
           "--arg", "n=10", "--arg", "factor=2.0", "--grid", "1", "--arg",
           "ACT=\"\""});
  expectRefused(open, "`BLOCK`");
}

} // namespace
} // namespace tessera
