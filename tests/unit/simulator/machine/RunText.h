// tests/unit/simulator/machine/RunText.h - a few lines of PTX on two tensors of
// 256 words.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/unit/simulator/machine/Fixture.h"

#include <cstdint>
#include <vector>

namespace tessera::sim {

inline constexpr const char *Pointers = ".param .u64 X, .param .u64 Y";

// Thread t of one block: %r1 = t, %rd1 = X, %rd2 = Y, %rd4 = 4 t, %r2 = address
// of word t in shared memory. %r0 is the first register.
inline constexpr const char *Head = R"(
  .reg .b32 %r<40>;
  .reg .pred %p<8>;
  .reg .b16 %rs<10>;
  .reg .f32 %f<8>;
  .reg .b64 %rd<20>;
  .file 1 "kernel.py"
  .loc 1 10 4
  ld.param.u64 %rd1, [X];
  ld.param.u64 %rd2, [Y];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd4, %r1, 4;
  mov.u32 %r3, smem;
  shl.b32 %r4, %r1, 2;
  add.s32 %r2, %r3, %r4;
  add.s64 %rd5, %rd1, %rd4;
  add.s64 %rd6, %rd2, %rd4;
)";

struct Ran {
  std::vector<uint32_t> x = std::vector<uint32_t>(256), y = x;
  Report report;
};

inline Ran runText(const std::string &body, uint32_t threads = 64,
                   Dim3 grid = {1, 1, 1}, Options options = {},
                   bool yWritten = true) {
  std::string text = kernelText(Pointers, Head + body,
                                ".extern .shared .align 16 .b8 smem[];\n");
  Module module = Module::load(text, "text.ptx");
  Ran run;
  for (uint32_t i = 0; i < 256; ++i)
    run.x[i] = 1000 + i;
  Memory memory;
  memory.add("X", std::as_const(run.x).data(), 1024);
  memory.add("Y", run.y.data(), 1024, true, yWritten);
  // Blocks on several host threads may wait for one whose thread the machine
  // does not run just now.
  const bool alone = options.serial || grid[0] * grid[1] * grid[2] == 1;
  if (options.maxInstructions == Options().maxInstructions)
    options.maxInstructions = alone ? 100'000 : 10'000'000;
  run.report = module.launch("k", grid, {threads, 1, 1}, 1024,
                             {pointer(run.x.data()), pointer(run.y.data())},
                             memory, options);
  return run;
}

inline void expectFinding(const Ran &run, Check check, uint32_t line) {
  ASSERT_EQ(run.report.findings.size(), 1u) << "nothing was found";
  const Finding &f = run.report.findings[0];
  EXPECT_STREQ(checkName(f.check), checkName(check)) << f.text();
  EXPECT_EQ(f.sourceLine, line) << f.text();
}

inline std::string replaced(std::string text, const std::string &from,
                            const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

} // namespace tessera::sim
