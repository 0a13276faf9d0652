// tools/pack/Microbenchmarks.cpp - PTX that keeps one unit of a GPU busy.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Each kernel writes the cycles and nanoseconds of the first thread of its
// first block to `clocks`, and values that prove the work to `out`.
#include "tools/pack/Calibration.h"

#include "support/Error.h"

#include <fmt/format.h>

namespace tessera::tools {

namespace {

// Defines the thread, the block size and the clocks at the start. %r1: thread
// of the grid; %r2: thread of the block; %r3: threads of the grid; %d1, %d2:
// clocks.
constexpr const char *head = R"(
.reg .pred %p<4>;
.reg .b32 %r<64>;
.reg .f32 %f<40>;
.reg .b64 %d<16>;
mov.u32 %r2, %tid.x;
mov.u32 %r4, %ctaid.x;
mov.u32 %r5, %ntid.x;
mad.lo.u32 %r1, %r4, %r5, %r2;
mov.u32 %r6, %nctaid.x;
mul.lo.u32 %r3, %r5, %r6;
mov.u64 %d1, %clock64;
mov.u64 %d2, %globaltimer;
)";

constexpr const char *tail = R"(
mov.u64 %d3, %clock64;
mov.u64 %d4, %globaltimer;
setp.ne.u32 %p3, %r1, 0;
@%p3 bra END;
sub.u64 %d3, %d3, %d1;
sub.u64 %d4, %d4, %d2;
ld.param.u64 %d5, [clocks];
st.global.u64 [%d5], %d3;
st.global.u64 [%d5+8], %d4;
END:
ret;
)";

// Stores a register: out[thread] = value.
std::string storeSum(const char *type, const char *value) {
  return fmt::format("ld.param.u64 %d6, [out];\nmul.wide.u32 %d7, %r1, 4;\n"
                     "add.u64 %d6, %d6, %d7;\nst.global.{} [%d6], {};\n",
                     type, value);
}

Microbenchmark make(const char *name, std::vector<std::string> parameters,
                    uint32_t threads, const std::string &body) {
  std::string list;
  for (const std::string &parameter : parameters)
    list += (list.empty() ? ".param ." : ", .param .") + parameter;
  return {name, std::move(parameters), threads,
          fmt::format(".version 7.0\n.target sm_80\n.address_size 64\n"
                      ".visible .entry {}({})\n.reqntid {}, 1, 1\n{{{}{}{}}}\n",
                      name, list, threads, head, body, tail)};
}

// Reads `quads` times 16 bytes from L2 or DRAM, `rounds` times. `quads` is a
// multiple of four times the number of threads. Stores the sum of all words of
// a thread.
Microbenchmark readMemory(const char *name) {
  std::string loads, sums;
  for (int i = 0; i < 4; ++i) {
    const int r = 20 + 4 * i;
    loads += fmt::format("ld.global.cg.v4.u32 {{%r{}, %r{}, %r{}, %r{}}}, "
                         "[%d9];\nadd.u64 %d9, %d9, %d10;\n",
                         r, r + 1, r + 2, r + 3);
    for (int k = 0; k < 4; ++k)
      sums += fmt::format("add.u32 %r12, %r12, %r{};\n", r + k);
  }
  return make(name,
              {"u64 data", "u64 out", "u64 clocks", "u32 quads", "u32 rounds"},
              256,
              "ld.param.u32 %r10, [quads];\nld.param.u32 %r11, [rounds];\n"
              "mov.u32 %r12, 0;\nshl.b32 %r13, %r3, 2;\n"
              "mul.wide.u32 %d10, %r3, 16;\nld.param.u64 %d11, [data];\n"
              "mul.wide.u32 %d8, %r1, 16;\nadd.u64 %d8, %d11, %d8;\n"
              "ROUND:\nmov.u32 %r14, %r1;\nmov.u64 %d9, %d8;\n"
              "MORE:\n" +
                  loads + sums +
                  "add.u32 %r14, %r14, %r13;\nsetp.lt.u32 %p1, %r14, %r10;\n"
                  "@%p1 bra MORE;\n"
                  "sub.u32 %r11, %r11, 1;\nsetp.ne.u32 %p2, %r11, 0;\n"
                  "@%p2 bra ROUND;\n" +
                  storeSum("u32", "%r12"));
}

// Computes eight independent chains of products of ones. Each product adds 16
// to each of a thread's 32 sums.
Microbenchmark mmaLoop() {
  std::string clear, products, sums;
  for (int i = 0; i < 32; ++i)
    clear += fmt::format("mov.f32 %f{}, 0f00000000;\n", i);
  for (int i = 0; i < 32; i += 4) {
    const std::string sum =
        fmt::format("{{%f{}, %f{}, %f{}, %f{}}}", i, i + 1, i + 2, i + 3);
    products += "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 " + sum +
                ", {%r20, %r20, %r20, %r20}, {%r20, %r20}, " + sum + ";\n";
  }
  for (int i = 1; i < 32; ++i)
    sums += fmt::format("add.f32 %f0, %f0, %f{};\n", i);
  return make("mma_loop", {"u64 out", "u64 clocks", "u32 turns"}, 256,
              clear +
                  "mov.u32 %r20, 0x3f803f80;\nld.param.u32 %r10, [turns];\n"
                  "MORE:\n" +
                  products +
                  "sub.u32 %r10, %r10, 1;\nsetp.ne.u32 %p1, %r10, 0;\n"
                  "@%p1 bra MORE;\n" +
                  sums + storeSum("f32", "%f0"));
}

// In each turn a thread reads its 16 bytes of the tile eight times. It sums one
// word of each read, which holds the number of the thread in its block.
Microbenchmark sharedLoop() {
  std::string loads, sums;
  for (int i = 0; i < 8; ++i) {
    const int r = 20 + 4 * i;
    loads += fmt::format("ld.volatile.shared.v4.u32 {{%r{}, %r{}, %r{}, "
                         "%r{}}}, [%r11];\n",
                         r, r + 1, r + 2, r + 3);
    sums += fmt::format("add.u32 %r12, %r12, %r{};\n", r);
  }
  return make("shared_loop", {"u64 out", "u64 clocks", "u32 turns"}, 256,
              ".shared .align 16 .b8 tile[4096];\n"
              "mov.u32 %r11, tile;\nshl.b32 %r13, %r2, 4;\n"
              "add.u32 %r11, %r11, %r13;\n"
              "st.volatile.shared.v4.u32 [%r11], {%r2, %r2, %r2, %r2};\n"
              "mov.u32 %r12, 0;\nld.param.u32 %r10, [turns];\n"
              "MORE:\n" +
                  loads + sums +
                  "sub.u32 %r10, %r10, 1;\nsetp.ne.u32 %p1, %r10, 0;\n"
                  "@%p1 bra MORE;\n" +
                  storeSum("u32", "%r12"));
}

// Follows pointers, one after the other, with loads that bypass the L1 cache.
Microbenchmark chase() {
  return make("chase", {"u64 first", "u64 out", "u64 clocks", "u32 turns"}, 32,
              "setp.ne.u32 %p2, %r1, 0;\n@%p2 bra STOP;\n"
              "ld.param.u64 %d9, [first];\nld.param.u32 %r10, [turns];\n"
              "MORE:\nld.global.cg.u64 %d9, [%d9];\n"
              "sub.u32 %r10, %r10, 1;\nsetp.ne.u32 %p1, %r10, 0;\n"
              "@%p1 bra MORE;\n"
              "ld.param.u64 %d6, [out];\nst.global.u64 [%d6], %d9;\nSTOP:\n");
}

} // namespace

const std::vector<Microbenchmark> &microbenchmarks() {
  static const std::vector<Microbenchmark> all = {
      readMemory("read_dram"),
      readMemory("read_l2"),
      mmaLoop(),
      sharedLoop(),
      chase(),
      make("nothing", {"u64 clocks"}, 32, "")};
  return all;
}

} // namespace tessera::tools
