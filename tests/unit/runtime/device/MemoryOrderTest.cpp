// tests/unit/runtime/device/MemoryOrderTest.cpp - accesses of one address in an
// order that matters, on the simulated GPU as on the cpu.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// All numbers are small integers: tensor cores do not round them, and results
// are bit-identical.
#include "tests/unit/runtime/device/SimLaunch.h"

#include "runtime/compile/CompileService.h"

#include <map>

using namespace tessera;

namespace {

constexpr int64_t side = 32;

const std::string head = R"(import triton
import triton.language as tl


@triton.jit
def ordered(A, B, W, OUT, LOCK, n, M: tl.constexpr):
    i = tl.arange(0, M)[:, None]
    k = tl.arange(0, M)[None, :]
    tile = i * M + k
    zero = tl.zeros((M, M), tl.float32)
)";

// What the kernel left in its tensors.
struct Tensors {
  std::vector<float> a = std::vector<float>(4 * side * side), w = a, out = a,
                     other = a;
  std::vector<int32_t> lock = std::vector<int32_t>(4);

  Tensors() {
    for (size_t i = 0; i < a.size(); ++i) {
      a[i] = float(i * 7 % 13) - 6;
      w[i] = float(i * 5 % 11) - 5;
    }
  }
};

class MemoryOrder : public testing::Test {
protected:
  // A and B are one tensor with `aliased`.
  static Tensors run(const std::string &body, const std::string &device,
                     bool aliased) {
    Tensors tensors;
    const Kernel kernel =
        Kernel::fromSource(head + body, "ordered", "ordered.py");
    std::vector<float> &b = aliased ? tensors.a : tensors.other;
    const std::vector<Arg> args = {
        memoryOf(tensors.a, DType::FP32),   memoryOf(b, DType::FP32),
        memoryOf(tensors.w, DType::FP32),   memoryOf(tensors.out, DType::FP32),
        memoryOf(tensors.lock, DType::I32), int64_t(side)};
    kernel.launch({1, 1, 1}, args, {{"M", side}}, onSim(device));
    if (device != "cpu")
      ptx = runtime::CompileService::instance()
                .get(kernel.compileRequest(args, {{"M", side}}, onSim(device)))
                ->stages.at("ptx");
    return tensors;
  }

  static void expectEqual(const std::string &body, bool aliased = false) {
    simCache();
    const Tensors want = run(body, "cpu", aliased);
    for (const char *device : {"sim:sm_80", "sim:sm_90"}) {
      SCOPED_TRACE(device + (":\n" + body));
      const Tensors got = run(body, device, aliased);
      EXPECT_EQ(got.a, want.a);
      EXPECT_EQ(got.other, want.other);
      EXPECT_EQ(got.out, want.out);
      EXPECT_EQ(got.lock, want.lock);
      EXPECT_NE(got.out, Tensors().out);
    }
  }

  static std::string ptx; // of the last run
};
std::string MemoryOrder::ptx;

// llc once moved the load into the branch, below the store.
TEST_F(MemoryOrder, AnOldValueThatOnlyABranchUses) {
  for (const char *write : {"tl.store(A + tile, zero + 7.0, mask=k < n)",
                            "tl.atomic_add(A + tile, zero + 1.0, mask=k < n)",
                            "tl.atomic_xchg(A + tile, zero + 9.0)"})
    expectEqual(std::string("    old = tl.load(A + tile)\n    ") + write +
                "\n    if n > 3:\n        tl.store(OUT + tile, old)\n");
}

// Each round reads what the one before wrote through another argument.
TEST_F(MemoryOrder, LoadsStayAfterBarriersOfTheAuthor) {
  const std::string start = R"(    w = tl.load(W + tile)
    acc = zero
    for r in range(0, 4):
        a = tl.load(A + r * M * M + tile)
        acc = tl.dot(a, w, acc)
        tl.store(B + (r + 1) * M * M + tile, acc.to(tl.int32) % 7 + zero, mask=(r < 3) & (k < n))
)",
                    end = "    tl.store(OUT + tile, acc)\n";
  expectEqual(start + "        tl.debug_barrier()\n" + end, true);
  expectEqual(start +
                  "        tl.atomic_add(LOCK, 1)\n"
                  "        tl.debug_barrier()\n" +
                  end,
              true);
  expectEqual(start + "        if r < 3:\n            tl.debug_barrier()\n" +
                  end,
              true);
}

// Copies read the tile before a later store overwrites it. The simulator
// reports a changed source as an error.
TEST_F(MemoryOrder, CopiesReadBeforeTheirSourceIsWritten) {
  for (const char *write : {"    tl.store(A + tile, zero)\n",
                            "    if n > 3:\n        tl.store(A + tile, zero)\n",
                            "    tl.atomic_add(A + tile, zero + 1.0)\n",
                            "    tl.debug_barrier()\n"
                            "    tl.store(A + tile, zero)\n"}) {
    expectEqual("    w = tl.load(W + tile)\n    a = tl.load(A + tile)\n" +
                std::string(write) +
                "    x = tl.dot(a, w)\n"
                "    tl.store(OUT + tile, tl.dot(tl.trans(a), x))\n");
    EXPECT_NE(ptx.find("cp.async"), std::string::npos) << write;
  }
}

} // namespace
