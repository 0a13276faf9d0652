// tests/unit/runtime/CpuModuleTest.cpp - kernels as shared objects in memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/CpuModule.h"
#include "support/Error.h"
#include "support/File.h"

#include <gtest/gtest.h>

#include <dlfcn.h>
#include <memory>
#include <vector>

using namespace tessera;
using runtime::CpuModule;

namespace {

int answerOf(const CpuModule &module) {
  int answer = 0;
  int *const args[] = {&answer};
  const uint32_t pid[3] = {0, 0, 0}, grid[3] = {1, 1, 1};
  module.entry()(args, pid, grid, nullptr);
  return answer;
}

} // namespace

TEST(CpuModule, EachHasItsOwnCode) {
  const std::string one = readFile(TESSERA_KERNEL_ONE),
                    two = readFile(TESSERA_KERNEL_TWO);
  const CpuModule first(one, "entry"), second(two, "entry"),
      third(one, "entry");
  EXPECT_EQ(answerOf(first), 1);
  EXPECT_EQ(answerOf(second), 2);
  EXPECT_EQ(answerOf(third), 1);
}

// A program that links the runtime and loads libtessera_torch.so has two: the
// loader must not take a kernel of one for a kernel of the other.
TEST(CpuModule, TwoRuntimesOfAProcessLoadTheirOwn) {
  void *const library = ::dlopen(TESSERA_SECOND_RUNTIME, RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(library) << ::dlerror();
  const auto answerOfSecond = reinterpret_cast<int (*)(const char *, size_t)>(
      ::dlsym(library, "answerOfSecondRuntime"));
  ASSERT_TRUE(answerOfSecond) << ::dlerror();
  const std::string one = readFile(TESSERA_KERNEL_ONE),
                    two = readFile(TESSERA_KERNEL_TWO);
  // The second one counts from where the first began.
  std::vector<std::unique_ptr<CpuModule>> held;
  for (int i = 0; i < 8; ++i) {
    held.push_back(std::make_unique<CpuModule>(one, "entry"));
    EXPECT_EQ(answerOfSecond(two.data(), two.size()), 2) << i;
    EXPECT_EQ(answerOf(*held.back()), 1) << i;
  }
}

TEST(CpuModule, WhatIsNoSharedObjectIsRefused) {
  EXPECT_THROW(CpuModule("not code", "entry"), Error);
  EXPECT_THROW(CpuModule(readFile(TESSERA_KERNEL_ONE), "nothing"), Error);
}
