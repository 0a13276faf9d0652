// simulator/machine/Reconverge.cpp - finds where the lanes of a branch
// reconverge.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Lanes reconverge at the immediate post-dominator of the branch:
//
//      B0: @p bra B2 ----+        B1 and B2 both lead to B3,
//      B1: ...; bra B3   |        so lanes that diverge in B0
//      B2: ... <---------+        reconverge at B3
//      B3: ...
#include "ptx/Dominators.h"
#include "simulator/machine/Decode.h"

#include <algorithm>
#include <cassert>

namespace tessera::sim {
namespace {

// First instruction of each block, and the block of each instruction. The exit
// is a block after all others.
struct Blocks {
  std::vector<uint32_t> starts, blockOf;
  uint32_t exit() const { return static_cast<uint32_t>(starts.size()); }
  uint32_t last(uint32_t block) const {
    auto code = static_cast<uint32_t>(blockOf.size() - 1);
    return (block + 1 < exit() ? starts[block + 1] : code) - 1;
  }
};

Blocks blocksOf(const Program &program) {
  const std::vector<Inst> &code = program.code;
  assert(!code.empty() && "decodeKernel() adds an exit");
  auto size = static_cast<uint32_t>(code.size());
  std::vector<bool> leader(size + 1);
  leader[0] = true;
  auto mark = [&](uint32_t at) {
    if (at < size)
      leader[at] = true;
  };
  for (uint32_t i = 0; i < size; ++i) {
    if (code[i].flow == Flow::Branch)
      mark(code[i].target);
    if (code[i].flow == Flow::BranchTable)
      for (uint32_t target : program.tables[static_cast<size_t>(code[i].imm)])
        mark(target);
    if (code[i].flow == Flow::Branch || code[i].flow == Flow::BranchTable ||
        code[i].flow == Flow::Exit || code[i].flow == Flow::Trap)
      mark(i + 1);
  }
  Blocks blocks;
  for (uint32_t i = 0; i < size; ++i) {
    if (leader[i])
      blocks.starts.push_back(i);
    blocks.blockOf.push_back(blocks.exit() - 1);
  }
  blocks.blockOf.push_back(blocks.exit());
  return blocks;
}

ptx::FlowGraph graphOf(const Program &program, const Blocks &blocks) {
  ptx::FlowGraph graph(blocks.exit() + 1);
  auto size = static_cast<uint32_t>(program.code.size());
  for (uint32_t b = 0; b < blocks.exit(); ++b) {
    uint32_t last = blocks.last(b);
    const Inst &i = program.code[last];
    bool guarded = i.guard != NoRow;
    bool falls = true;
    if (i.flow == Flow::Branch) {
      graph.connect(b, blocks.blockOf[std::min(i.target, size)]);
      falls = guarded;
    } else if (i.flow == Flow::BranchTable) {
      for (uint32_t target : program.tables[static_cast<size_t>(i.imm)])
        graph.connect(b, blocks.blockOf[std::min(target, size)]);
      falls = guarded;
    } else if (i.flow == Flow::Exit || i.flow == Flow::Trap) {
      graph.connect(b, blocks.exit());
      falls = guarded;
    }
    if (falls)
      graph.connect(b, blocks.blockOf[last + 1]);
  }
  return graph;
}

} // namespace

void findReconvergence(Program &program) {
  const Blocks blocks = blocksOf(program);
  ptx::FlowGraph graph = graphOf(program, blocks);
  graph.reverse();
  const ptx::Dominators post = ptx::dominatorsOf(graph, blocks.exit());
  for (uint32_t b = 0; b < blocks.exit(); ++b) {
    uint32_t meet = post.immediate[b];
    program.code[blocks.last(b)].reconverge =
        meet == ptx::None || meet == blocks.exit() ? ~uint32_t{0}
                                                   : blocks.starts[meet];
  }
}

} // namespace tessera::sim
