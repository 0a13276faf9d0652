// tests/unit/support/GpuTargetTest.cpp - tests of support/GpuTarget.h.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/GpuTarget.h"

#include "support/Error.h"

#include <gtest/gtest.h>

using namespace tessera;

TEST(GpuTarget, Names) {
  for (const std::string &name : GpuTarget::names()) {
    EXPECT_EQ(GpuTarget::parse(name).name, name);
    EXPECT_TRUE(GpuTarget::looksLike(name));
  }
  EXPECT_EQ(GpuTarget::parse("sm_90").computeCapability, 90u);
  EXPECT_FALSE(GpuTarget::looksLike("cpu:x86-64-v3:0000"));
  for (const char *bad :
       {"", "sm_", "sm_70", "sm_800", "SM_80", "cuda:80", "sm_90a", "sm_80 "}) {
    try {
      GpuTarget::parse(bad);
      ADD_FAILURE() << bad;
    } catch (const Error &error) {
      EXPECT_NE(error.hint.find("sm_80, sm_86, sm_89, sm_90"),
                std::string::npos)
          << error.hint;
    }
  }
}

// The table of the CUDA C++ Programming Guide.
TEST(GpuTarget, Limits) {
  const GpuTarget a100 = GpuTarget::parse("sm_80"),
                  ada = GpuTarget::parse("sm_89"),
                  h100 = GpuTarget::parse("sm_90");
  EXPECT_EQ(a100.sharedPerBlock, 166912u);
  EXPECT_EQ(a100.sharedPerSm, 167936u);
  EXPECT_EQ(h100.sharedPerBlock, 232448u);
  EXPECT_EQ(h100.sharedPerSm, 233472u);
  EXPECT_EQ(ada.sharedPerBlock, 101376u);
  EXPECT_EQ(ada.threadsPerSm, 1536u);
  EXPECT_EQ(a100.threadsPerSm, 2048u);
  EXPECT_LE(h100.ptxVersion, 87u);
}

// Blocks per SM as the toolkit's occupancy calculator gives them.
TEST(GpuTarget, Occupancy) {
  const GpuTarget a100 = GpuTarget::parse("sm_80"),
                  h100 = GpuTarget::parse("sm_90"),
                  rtx = GpuTarget::parse("sm_86");
  struct {
    const GpuTarget &target;
    uint32_t registers;
    uint64_t shared;
    uint32_t threads, blocks;
    const char *limit;
  } rows[] = {
      {a100, 32, 0, 128, 16, "registers"},
      {a100, 16, 0, 128, 16, "warps"},
      {a100, 16, 0, 32, 32, "blocks"},
      {a100, 255, 0, 128, 2, "registers"},
      {a100, 255, 0, 32, 8, "registers"},
      {a100, 168, 0, 128, 3, "registers"},
      {a100, 169, 0, 128, 2, "registers"},
      {a100, 128, 0, 256, 2, "registers"},
      {a100, 64, 0, 1024, 1, "registers"},
      {a100, 65, 0, 1024, 0, "registers"},
      {a100, 256, 0, 32, 0, "registers"},
      {a100, 32, 0, 1025, 0, "warps"},
      {a100, 32, 166912, 128, 1, "shared memory"},
      {a100, 32, 166913, 128, 0, "shared memory"},
      {a100, 32, 82944, 128, 2, "shared memory"},
      {a100, 32, 82945, 128, 1, "shared memory"},
      {a100, 32, 49152, 128, 3, "shared memory"},
      {h100, 32, 232448, 256, 1, "shared memory"},
      {h100, 128, 65536, 256, 2, "registers"},
      {rtx, 32, 0, 128, 12, "warps"},
      {rtx, 32, 0, 64, 16, "blocks"},
      {rtx, 32, 50688, 128, 1, "shared memory"},
  };
  for (const auto &row : rows) {
    const Occupancy got =
        row.target.occupancy(row.registers, row.shared, row.threads);
    EXPECT_EQ(got.blocks, row.blocks)
        << row.target.name << " " << row.registers << " " << row.shared << " "
        << row.threads;
    EXPECT_EQ(got.limit, row.limit) << row.target.name << " " << row.registers
                                    << " " << row.shared << " " << row.threads;
    EXPECT_EQ(got.warps, got.blocks * ((row.threads + 31) / 32));
  }
}
