// tests/unit/runtime/device/ProgramOrderTest.cpp - accesses of a program appear
// in its order, in random schedules of the simulated GPU as on the cpu.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Thread t has element t of `o`; elements of `r` are other threads'.
#include "tests/unit/runtime/device/SimLaunch.h"

#include <numeric>

using namespace tessera;

namespace {

constexpr int64_t orderedSize = 1024;

const std::string orderedHead = R"(import triton
import triton.language as tl


@triton.jit
def ordered(Y, O, COUNT, n, N: tl.constexpr):
    o = tl.arange(0, N)
    r = N - 1 - o
)";

struct OrderedMemory {
  std::vector<int32_t> y = std::vector<int32_t>(2 * orderedSize), o = y,
                       count = std::vector<int32_t>(4);
  OrderedMemory() { std::iota(y.begin(), y.end(), -700); }
  bool operator==(const OrderedMemory &) const = default;
};

void setSchedule(int seed) {
  ::setenv("TESSERA_SIM_SEED", std::to_string(seed).c_str(), 1);
  ::setenv("TESSERA_SIM_LANES", seed % 2 ? "apart" : "lockstep", 1);
}

class ProgramOrder : public testing::Test {
protected:
  void SetUp() override { simCache(); }
  void TearDown() override {
    ::unsetenv("TESSERA_SIM_SEED");
    ::unsetenv("TESSERA_SIM_LANES");
  }

  static OrderedMemory run(const Kernel &kernel, const std::string &device,
                           int64_t warps, uint32_t programs) {
    OrderedMemory memory;
    LaunchOptions options = onSim(device);
    if (device != "cpu")
      options.numWarps = warps;
    kernel.launch({programs, 1, 1},
                  {memoryOf(memory.y, DType::I32),
                   memoryOf(memory.o, DType::I32),
                   memoryOf(memory.count, DType::I32), int64_t(3)},
                  {{"N", orderedSize}}, options);
    return memory;
  }

  static void expectAsOnCpu(const std::string &body, uint32_t programs = 1) {
    const Kernel kernel =
        Kernel::fromSource(orderedHead + body, "ordered", "ordered.py");
    const OrderedMemory want = run(kernel, "cpu", 0, programs);
    EXPECT_NE(want.o, OrderedMemory().o);
    for (int64_t warps : {1, 8})
      for (int seed = 1; seed <= 4; ++seed) {
        SCOPED_TRACE("warps " + std::to_string(warps) + ", seed " +
                     std::to_string(seed) + ":\n" + body);
        setSchedule(seed);
        const OrderedMemory got = run(kernel, "sim:sm_80", warps, programs);
        ASSERT_EQ(got.y, want.y);
        ASSERT_EQ(got.o, want.o);
        ASSERT_EQ(got.count, want.count);
      }
  }
};

const std::string loadOthers = "    tl.store(O + o, tl.load(Y + r))\n";

TEST_F(ProgramOrder, StoresInALoopAndALoadAfterIt) {
  expectAsOnCpu("    for i in range(n):\n        tl.store(Y + o, o + i)\n" +
                loadOthers);
  expectAsOnCpu("    i = 0\n    while i < n:\n        tl.store(Y + o, o + i)\n"
                "        i += 1\n" +
                loadOthers);
  expectAsOnCpu("    for i in range(n):\n        for k in range(i):\n"
                "            tl.store(Y + o, o + i + k)\n" +
                loadOthers);
}

TEST_F(ProgramOrder, AStoreBeforeALoopAndLoadsInIt) {
  const std::string store = "    tl.store(Y + o, o * 3)\n    a = o * 0\n";
  expectAsOnCpu(store + "    for i in range(n):\n"
                        "        a += tl.load(Y + r)\n"
                        "    tl.store(O + o, a)\n");
  expectAsOnCpu(store + "    i = 0\n    while i < n:\n"
                        "        a += tl.load(Y + r)\n        i += 1\n"
                        "    tl.store(O + o, a)\n");
  // No iteration at all.
  expectAsOnCpu(store +
                "    for i in range(n - 3):\n"
                "        a += tl.load(Y + r)\n"
                "        tl.debug_barrier()\n" +
                loadOthers);
}

TEST_F(ProgramOrder, LoadsInALoopAndAStoreAfterIt) {
  expectAsOnCpu("    a = o * 0\n    for i in range(n):\n"
                "        a += tl.load(Y + r + i)\n"
                "    tl.store(Y + o, o)\n    tl.store(O + o, a)\n");
  expectAsOnCpu("    a = o * 0\n    i = 0\n    while i < n:\n"
                "        a += tl.load(Y + r + i)\n        i += 1\n"
                "    tl.store(Y + o, o)\n    tl.store(O + o, a)\n");
}

TEST_F(ProgramOrder, FromOneIterationToTheNext) {
  expectAsOnCpu("    for i in range(n):\n        v = tl.load(Y + r)\n"
                "        tl.store(Y + o, v + 1)\n" +
                loadOthers);
  expectAsOnCpu("    for i in range(n):\n        if i % 2 == 0:\n"
                "            tl.store(Y + o, o + i)\n        else:\n"
                "            tl.store(O + o, tl.load(Y + r))\n");
}

TEST_F(ProgramOrder, BranchesAndWhatFollows) {
  expectAsOnCpu("    if n > 2:\n        tl.store(Y + o, o * 2)\n" + loadOthers);
  expectAsOnCpu("    if n > 3:\n        tl.debug_barrier()\n    else:\n"
                "        tl.store(Y + o, o * 2)\n" +
                loadOthers);
  expectAsOnCpu("    tl.store(Y + o, o * 2)\n    if n > 3:\n"
                "        tl.debug_barrier()\n" +
                loadOthers);
  expectAsOnCpu("    v = tl.load(Y + r)\n    if n > 2:\n"
                "        tl.store(Y + o, o * 2)\n    tl.store(O + o, v)\n");
}

// The last iteration's elements stay.
TEST_F(ProgramOrder, StoresOfALoopThatOverlap) {
  expectAsOnCpu("    for i in range(n):\n"
                "        tl.store(Y + o + i * 65, o * 3 + i)\n" +
                loadOthers);
  expectAsOnCpu("    p = Y + r\n    for i in range(n):\n"
                "        tl.store(p, o * 3 + i)\n        p += 333\n" +
                loadOthers);
  expectAsOnCpu("    for i in range(n):\n"
                "        tl.store(Y + (o + i * 65) % N, o * 3 + i)\n" +
                loadOthers);
}

// Two elements with one address: all loads see what was there before.
TEST_F(ProgramOrder, ElementsWithOneAddress) {
  expectAsOnCpu("    v = tl.load(Y + o // 4 * 64 % N)\n"
                "    tl.store(Y + o // 4 * 64 % N, v + 1)\n" +
                loadOthers);
  expectAsOnCpu(
      "    tl.store(Y + o // 512, o // 512, mask=o % 512 == 5)\n"
      "    tl.store(Y + o // 512, o // 512 + 9, mask=o % 512 == 261)\n" +
      loadOthers);
}

TEST_F(ProgramOrder, AtomicsOfOtherElements) {
  expectAsOnCpu("    tl.atomic_add(Y + o, o + 1)\n"
                "    tl.store(O + o, tl.atomic_xchg(Y + r, o * 0))\n");
  expectAsOnCpu(
      "    tl.atomic_add(Y + o, o + 1, sem='relaxed')\n"
      "    tl.store(O + o, tl.atomic_max(Y + r, o, sem='relaxed'))\n");
  expectAsOnCpu("    tl.store(O + o, tl.atomic_cas(Y + o, o - 700, o))\n"
                "    tl.atomic_cas(Y + r, r, o * 5)\n");
  expectAsOnCpu("    for i in range(n):\n"
                "        v = tl.atomic_xchg(Y + (o + i * 333) % N, o + i, "
                "sem='relaxed')\n"
                "        tl.store(O + o, v)\n");
}

TEST_F(ProgramOrder, AtomicsAndPlainAccesses) {
  expectAsOnCpu("    tl.store(Y + o, o)\n"
                "    tl.atomic_add(Y + r, o * 2, sem='relaxed')\n" +
                loadOthers);
  expectAsOnCpu("    v = tl.load(Y + r)\n"
                "    tl.atomic_xchg(Y + o, o, sem='relaxed')\n"
                "    tl.store(O + o, v)\n");
  expectAsOnCpu("    tl.atomic_add(Y + o, o, sem='relaxed')\n"
                "    tl.store(Y + r, o)\n    tl.store(O + o, o)\n");
  expectAsOnCpu("    tl.store(O + o, tl.atomic_add(COUNT, 1) + o)\n"
                "    tl.atomic_add(COUNT, tl.load(COUNT) + 5)\n");
}

// The last program to come sums up what all have added or stored.
TEST_F(ProgramOrder, TheLastProgramSeesAllOthers) {
  const std::string last = "    if tl.atomic_add(COUNT, 1) == 3:\n"
                           "        tl.store(O + o, tl.load(Y + r))\n";
  const std::string value = "    x = o * (tl.program_id(0) + 2)\n";
  expectAsOnCpu(value + "    tl.atomic_add(Y + o, x)\n" + last, 4);
  expectAsOnCpu(value + "    tl.atomic_add(Y + o, x, sem='relaxed')\n" + last,
                4);
  expectAsOnCpu(value + "    tl.atomic_add(Y + o, x, sem='relaxed')\n"
                        "    tl.atomic_add(Y + N + o, x, sem='relaxed')\n"
                        "    if tl.atomic_add(COUNT, 1) == 3:\n"
                        "        tl.store(O + o, tl.load(Y + r) + "
                        "tl.load(Y + N + r))\n",
                4);
}

// `cta` is the scope of one program: it orders nothing between two.
TEST_F(ProgramOrder, TheScopeOfAProgramOrdersNoOther) {
  const Kernel kernel = Kernel::fromSource(
      orderedHead + "    tl.store(Y + tl.program_id(0) * N + o, o)\n"
                    "    if tl.atomic_add(COUNT, 1, scope='cta') == 1:\n"
                    "        tl.store(O + o, tl.load(Y + r) + "
                    "tl.load(Y + N + r))\n",
      "ordered", "ordered.py");
  for (int seed = 1; seed <= 4; ++seed) {
    setSchedule(seed);
    expectHas(failureOf([&] { run(kernel, "sim:sm_80", 4, 2); }),
              "global-conflict");
  }
}

// A lock protects what all threads of its holder do.
TEST_F(ProgramOrder, ALockProtectsItsProgram) {
  expectAsOnCpu("    while tl.atomic_cas(COUNT, 0, 1) == 1:\n        pass\n"
                "    v = tl.load(Y + r)\n    tl.store(Y + r, v * 3 + 1)\n"
                "    tl.store(O + o, v + 1, mask=tl.atomic_add(COUNT + 1, 1) "
                "== 3)\n"
                "    tl.atomic_xchg(COUNT, 0)\n",
                4);
}

} // namespace
