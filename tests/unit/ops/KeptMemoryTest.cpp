// tests/unit/ops/KeptMemoryTest.cpp - which blocks serve again, how many are
// kept, and the tensors made of them.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/launch/KeptMemory.h"
#include "ops/launch/EmptyTensor.h"
#include "tests/unit/models/CountedMemory.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <vector>

using namespace tessera::runtime;

namespace {

constexpr size_t MiB = 1 << 20;

bool isMapped(const void *page) {
  unsigned char resident = 0;
  void *address = const_cast<void *>(page);
  return mincore(address, 1, &resident) == 0 || errno != ENOMEM;
}

// Bytes of the mapping with this address that the system may take at any time.
size_t lazilyFreed(const void *address) {
  std::ifstream maps("/proc/self/smaps");
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0, end = 0;
    size_t kilobytes = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2)
      inside = begin <= wanted && wanted < end;
    else if (inside &&
             std::sscanf(line.c_str(), "LazyFree: %zu kB", &kilobytes) == 1)
      return kilobytes << 10;
  }
  return 0;
}

TEST(KeptMemory, TheSystemMayTakeFreedBlocks) {
  KeptMemory memory(1024 * MiB);
  c10::DataPtr block = memory.allocate(32 * MiB);
  void *const address = block.get();
  std::memset(address, 1, 32 * MiB);
  EXPECT_EQ(lazilyFreed(address), 0u);
  block.clear();
  EXPECT_GE(lazilyFreed(address), 32 * MiB);
  block = memory.allocate(32 * MiB);
  ASSERT_EQ(block.get(), address);
  std::memset(address, 2, 32 * MiB);
  EXPECT_EQ(lazilyFreed(address), 0u);
}

TEST(KeptMemory, AFreedBlockServesATensorOfAboutItsSize) {
  KeptMemory memory(1024 * MiB);
  void *const first = memory.allocate(40 * MiB).get();
  EXPECT_EQ(memory.keptBytes(), 40 * MiB);
  EXPECT_EQ(memory.allocate(40 * MiB).get(), first);
  EXPECT_EQ(memory.allocate(32 * MiB).get(), first);
  // Too large, and less than 4/5 of it.
  EXPECT_NE(memory.allocate(42 * MiB).get(), first);
  EXPECT_EQ(memory.keptBytes(), 82 * MiB);
  EXPECT_NE(memory.allocate(28 * MiB).get(), first);
  EXPECT_EQ(memory.keptBytes(), (82 + 28) * MiB);
}

TEST(KeptMemory, TheSmallestThatFitsIsTaken) {
  KeptMemory memory(1024 * MiB);
  void *wide, *narrow;
  {
    const auto a = memory.allocate(48 * MiB), b = memory.allocate(44 * MiB);
    wide = a.get();
    narrow = b.get();
  }
  const auto one = memory.allocate(42 * MiB), two = memory.allocate(42 * MiB);
  EXPECT_EQ(one.get(), narrow);
  EXPECT_EQ(two.get(), wide);
  EXPECT_EQ(memory.keptBytes(), 0u);
}

TEST(KeptMemory, BeyondTheLimitTheOldestAreUnmapped) {
  KeptMemory memory(96 * MiB);
  std::vector<void *> blocks;
  {
    std::vector<c10::DataPtr> used;
    for (int i = 0; i < 5; ++i) {
      used.push_back(memory.allocate(32 * MiB));
      std::memset(used.back().get(), i, 32 * MiB);
      blocks.push_back(used.back().get());
    }
    for (auto &one : used)
      one.clear();
  }
  EXPECT_EQ(memory.keptBytes(), 96 * MiB);
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(isMapped(blocks[size_t(i)]), i >= 2) << i;
  memory.release();
  EXPECT_EQ(memory.keptBytes(), 0u);
  for (void *block : blocks)
    EXPECT_FALSE(isMapped(block));
}

TEST(KeptMemory, WithoutMemoryKeptBlocksAreUnmappedAndTorchsErrorIsThrown) {
  KeptMemory memory(1024 * MiB);
  memory.allocate(32 * MiB).clear();
  EXPECT_EQ(memory.keptBytes(), 32 * MiB);
  EXPECT_THROW(memory.allocate(size_t(1) << 50), c10::Error);
  EXPECT_EQ(memory.keptBytes(), 0u);
}

TEST(KeptMemory, ThreadsNeverShareABlock) {
  KeptMemory memory(1024 * MiB);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int mark = 1; mark <= 4; ++mark)
    threads.emplace_back([&, mark] {
      for (int round = 0; round < 200; ++round) {
        const auto block =
            memory.allocate((32 + size_t(2 * (round + mark) % 6)) * MiB);
        auto *bytes = static_cast<volatile char *>(block.get());
        bytes[0] = char(mark);
        bytes[31 * MiB] = char(mark);
        std::this_thread::yield();
        wrong += bytes[0] != mark || bytes[31 * MiB] != mark;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(KeptMemory, LargeResultsUseIt) {
  KeptMemory &memory = KeptMemory::instance();
  memory.release();
  const auto options = at::TensorOptions().dtype(at::kFloat);
  const int64_t rows = 32 * MiB / 4096;
  emptyTensor({rows - 1, 1024}, options);
  EXPECT_EQ(memory.keptBytes(), 0u) << "smaller ones are torch's";
  at::Tensor made = emptyTensor({rows, 1024}, options);
  EXPECT_TRUE(made.is_contiguous());
  EXPECT_EQ(made.sizes(), at::IntArrayRef({rows, 1024}));
  const void *const address = made.data_ptr();
  made.resize_({2, rows, 1024});
  made.fill_(1);
  made = at::Tensor();
  EXPECT_EQ(memory.keptBytes(), (32 + 64) * MiB);
  EXPECT_EQ(emptyTensor({rows, 1024}, options).data_ptr(), address);
  memory.release();
}

// torch.use_deterministic_algorithms(True) fills what no kernel has written.
TEST(KeptMemory, DeterministicAlgorithmsFillResults) {
  KeptMemory::instance().release();
  at::globalContext().setDeterministicAlgorithms(true, false);
  const at::Tensor made = emptyTensor({int64_t(16 * MiB)}, at::kFloat);
  at::globalContext().setDeterministicAlgorithms(false, false);
  EXPECT_TRUE(made.isnan().all().item<bool>());
}

TEST(KeptMemory, AnAllocatorOfTheProgramIsUsedInstead) {
  KeptMemory::instance().release();
  const CountedMemory memory;
  const int64_t before = CountedMemory::now;
  const at::Tensor made = emptyTensor({int64_t(32 * MiB)}, at::kByte);
  EXPECT_EQ(CountedMemory::now - before, int64_t(32 * MiB));
}

} // namespace
