// ptx/Dominators.h - immediate dominators of a flow graph.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera::ptx {

struct FlowGraph {
  std::vector<std::vector<uint32_t>> next, previous; // by node

  explicit FlowGraph(size_t nodes) : next(nodes), previous(nodes) {}
  void connect(uint32_t from, uint32_t to) {
    next[from].push_back(to);
    previous[to].push_back(from);
  }
  // Swaps the directions: post-dominators are dominators of the reverse graph.
  void reverse() { next.swap(previous); }
};

struct Dominators {
  std::vector<uint32_t> order; // the reachable nodes in reverse postorder
  // The immediate dominator of each node; None for an unreachable node. The
  // immediate dominator of the entry is the entry.
  std::vector<uint32_t> position; // in `order`
  std::vector<uint32_t> immediate;

  // True if `a` dominates `b`. Both nodes must be reachable.
  bool dominates(uint32_t a, uint32_t b) const;
};

// Computes dominators with the iterative algorithm of Cooper, Harvey and
// Kennedy ("A Simple, Fast Dominance Algorithm", 2001).
Dominators dominatorsOf(const FlowGraph &graph, uint32_t entry);

} // namespace tessera::ptx
