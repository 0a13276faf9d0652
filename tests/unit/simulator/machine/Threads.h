// tests/unit/simulator/machine/Threads.h - a few instructions on random words
// of every thread.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/unit/simulator/machine/Fixture.h"

#include <array>
#include <random>
#include <vector>

namespace tessera::sim {

using Words = std::array<uint32_t, 4>; // of a thread

// Thread t has its words in %a0 to %a3 and as 64-bit pairs in %A0 and %A1, its
// number in %t, its lane in %l, the address of 8 KiB of shared memory in %s; it
// gives back %d0 to %d3. Other registers: %r0-19, %q0-9 (64 bits), %h0-9 (16),
// %p0-9. Throws Error when a check fires.
inline std::vector<Words> onThreads(const std::string &body,
                                    const std::vector<Words> &in,
                                    const std::string &target = "sm_90") {
  std::string text = ".version 8.7\n.target " + target + R"(
.address_size 64
.extern .shared .align 16 .b8 smem[];
.visible .entry k(.param .u64 X, .param .u64 Y)
{
  .reg .pred %p<10>;
  .reg .b16 %h<10>;
  .reg .b32 %t, %l, %s, %a<4>, %d<4>, %r<20>;
  .reg .b64 %x, %y, %o, %A<2>, %q<10>;
  ld.param.u64 %x, [X];
  ld.param.u64 %y, [Y];
  mov.u32 %t, %tid.x;
  mov.u32 %l, %laneid;
  mov.u32 %s, smem;
  mul.wide.u32 %o, %t, 16;
  add.s64 %x, %x, %o;
  add.s64 %y, %y, %o;
  ld.global.v4.b32 {%a0, %a1, %a2, %a3}, [%x];
  mov.b64 %A0, {%a0, %a1};
  mov.b64 %A1, {%a2, %a3};
  mov.b32 %d0, 0;
  mov.b32 %d1, 0;
  mov.b32 %d2, 0;
  mov.b32 %d3, 0;
)" + body + R"(
  st.global.v4.b32 [%y], {%d0, %d1, %d2, %d3};
  ret;
}
)";
  std::vector<Words> out(in.size());
  Memory memory;
  memory.add("X", in.data(), in.size() * sizeof(Words));
  memory.add("Y", out.data(), out.size() * sizeof(Words), true, false);
  Module::load(text, "threads.ptx")
      .launch("k", {1, 1, 1}, {static_cast<uint32_t>(in.size()), 1, 1}, 8192,
              {pointer(in.data()), pointer(out.data())}, memory)
      .throwIfBad();
  return out;
}

inline std::vector<Words> randomWords(size_t threads, uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::vector<Words> words(threads);
  for (Words &thread : words)
    for (uint32_t &word : thread)
      word = static_cast<uint32_t>(engine());
  return words;
}

} // namespace tessera::sim
