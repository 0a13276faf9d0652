// simulator/machine/Reconverge.cpp - where the lanes of a branch meet again.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// The immediate post-dominator of every branch, by the iterative algorithm of
// Cooper, Harvey and Kennedy ("A Simple, Fast Dominance Algorithm", 2001) on
// the reversed graph of basic blocks.
#include "simulator/machine/Decode.h"

#include <algorithm>
#include <cassert>

namespace tessera::sim {
namespace {

constexpr uint32_t Unknown = ~uint32_t{0};

struct Graph {
  std::vector<uint32_t> starts; // first instruction of each block
  std::vector<std::vector<uint32_t>> next, previous;
  uint32_t exit = 0; // a block after all others
};

Graph blocksOf(const Program &program) {
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
  Graph g;
  std::vector<uint32_t> blockOf(size + 1);
  for (uint32_t i = 0; i < size; ++i) {
    if (leader[i])
      g.starts.push_back(i);
    blockOf[i] = static_cast<uint32_t>(g.starts.size() - 1);
  }
  g.exit = static_cast<uint32_t>(g.starts.size());
  blockOf[size] = g.exit;
  g.next.resize(g.exit + 1);
  g.previous.resize(g.exit + 1);
  auto edge = [&](uint32_t from, uint32_t to) {
    g.next[from].push_back(to);
    g.previous[to].push_back(from);
  };
  for (uint32_t b = 0; b < g.exit; ++b) {
    uint32_t last = (b + 1 < g.exit ? g.starts[b + 1] : size) - 1;
    const Inst &i = code[last];
    bool guarded = i.guard != NoRow;
    bool falls = true;
    if (i.flow == Flow::Branch) {
      edge(b, blockOf[std::min(i.target, size)]);
      falls = guarded;
    } else if (i.flow == Flow::BranchTable) {
      for (uint32_t target : program.tables[static_cast<size_t>(i.imm)])
        edge(b, blockOf[std::min(target, size)]);
      falls = guarded;
    } else if (i.flow == Flow::Exit || i.flow == Flow::Trap) {
      edge(b, g.exit);
      falls = guarded;
    }
    if (falls)
      edge(b, blockOf[last + 1]);
  }
  return g;
}

// Immediate post-dominators of all blocks; Unknown where no path leads to an
// exit.
std::vector<uint32_t> postDominators(const Graph &g) {
  uint32_t count = g.exit + 1;
  std::vector<uint32_t> order(count, Unknown), list;
  // Postorder of the reversed graph from the exit, without recursion.
  std::vector<std::pair<uint32_t, size_t>> work{{g.exit, 0}};
  std::vector<bool> seen(count);
  seen[g.exit] = true;
  while (!work.empty()) {
    auto &[block, child] = work.back();
    if (child < g.previous[block].size()) {
      uint32_t to = g.previous[block][child++];
      if (!seen[to]) {
        seen[to] = true;
        work.emplace_back(to, 0);
      }
    } else {
      order[block] = static_cast<uint32_t>(list.size());
      list.push_back(block);
      work.pop_back();
    }
  }
  std::vector<uint32_t> dominator(count, Unknown);
  dominator[g.exit] = g.exit;
  for (bool changed = true; changed;) {
    changed = false;
    for (auto block = list.rbegin(); block != list.rend(); ++block) {
      if (*block == g.exit)
        continue;
      uint32_t best = Unknown;
      for (uint32_t to : g.next[*block]) {
        if (order[to] == Unknown || dominator[to] == Unknown)
          continue;
        if (best == Unknown) {
          best = to;
          continue;
        }
        uint32_t a = best, b = to;
        while (a != b) {
          while (order[a] < order[b])
            a = dominator[a];
          while (order[b] < order[a])
            b = dominator[b];
        }
        best = a;
      }
      if (best != dominator[*block]) {
        dominator[*block] = best;
        changed = true;
      }
    }
  }
  return dominator;
}

} // namespace

void findReconvergence(Program &program) {
  Graph g = blocksOf(program);
  std::vector<uint32_t> dominator = postDominators(g);
  for (uint32_t b = 0; b < g.exit; ++b) {
    uint32_t end = b + 1 < g.exit ? g.starts[b + 1]
                                  : static_cast<uint32_t>(program.code.size());
    Inst &last = program.code[end - 1];
    uint32_t meet = dominator[b];
    last.reconverge =
        meet == Unknown || meet == g.exit ? ~uint32_t{0} : g.starts[meet];
  }
}

} // namespace tessera::sim
