// ptx/Dominators.cpp - immediate dominators of a flow graph.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ptx/Dominators.h"

#include "ptx/Tree.h"

#include <algorithm>

namespace tessera::ptx {
namespace {

// Fills `order` and `position`, without recursion.
void number(const FlowGraph &graph, uint32_t entry, Dominators &result) {
  std::vector<std::pair<uint32_t, size_t>> stack = {{entry, 0}};
  std::vector<bool> seen(graph.next.size());
  seen[entry] = true;
  while (!stack.empty()) {
    auto &[node, edge] = stack.back();
    if (edge < graph.next[node].size()) {
      const uint32_t to = graph.next[node][edge++];
      if (!seen[to]) {
        seen[to] = true;
        stack.emplace_back(to, 0);
      }
    } else {
      result.order.push_back(node);
      stack.pop_back();
    }
  }
  std::reverse(result.order.begin(), result.order.end());
  result.position.assign(graph.next.size(), None);
  for (uint32_t i = 0; i < result.order.size(); ++i)
    result.position[result.order[i]] = i;
}

} // namespace

Dominators dominatorsOf(const FlowGraph &graph, uint32_t entry) {
  Dominators result;
  number(graph, entry, result);
  std::vector<uint32_t> &immediate = result.immediate;
  immediate.assign(graph.next.size(), None);
  immediate[entry] = entry;
  const auto meet = [&](uint32_t a, uint32_t b) {
    while (a != b)
      if (result.position[a] > result.position[b])
        a = immediate[a];
      else
        b = immediate[b];
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t node : result.order) {
      if (node == entry)
        continue;
      uint32_t best = None;
      for (uint32_t from : graph.previous[node])
        if (immediate[from] != None)
          best = best == None ? from : meet(best, from);
      changed |= best != immediate[node];
      immediate[node] = best;
    }
  }
  return result;
}

bool Dominators::dominates(uint32_t a, uint32_t b) const {
  while (position[b] > position[a])
    b = immediate[b];
  return a == b;
}

} // namespace tessera::ptx
