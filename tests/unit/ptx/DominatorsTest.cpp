// tests/unit/ptx/DominatorsTest.cpp - dominators, against their definition.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ptx/Dominators.h"
#include "ptx/Tree.h"

#include <gtest/gtest.h>

#include <random>

using namespace tessera::ptx;

namespace {

// The nodes that paths from `entry` reach without the node `removed`.
std::vector<bool> reachable(const FlowGraph &graph, uint32_t entry,
                            uint32_t removed) {
  std::vector<bool> seen(graph.next.size());
  std::vector<uint32_t> work;
  if (entry != removed)
    work.push_back(entry);
  while (!work.empty()) {
    const uint32_t node = work.back();
    work.pop_back();
    if (seen[node])
      continue;
    seen[node] = true;
    for (uint32_t to : graph.next[node])
      if (to != removed)
        work.push_back(to);
  }
  return seen;
}

} // namespace

// A node dominates another one if no path leads around it.
TEST(Dominators, AgreeWithTheDefinition) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 200; ++trial) {
    const uint32_t nodes = 1 + random() % 9;
    FlowGraph graph(nodes);
    for (uint32_t edge = random() % (2 * nodes + 1); edge > 0; --edge)
      graph.connect(random() % nodes, random() % nodes);
    if (trial % 2)
      graph.reverse();
    const uint32_t entry = random() % nodes;
    const Dominators found = dominatorsOf(graph, entry);
    const std::vector<bool> all = reachable(graph, entry, None);
    EXPECT_EQ(found.order.front(), entry);
    EXPECT_EQ(found.immediate[entry], entry);
    for (uint32_t b = 0; b < nodes; ++b) {
      ASSERT_EQ(found.position[b] != None, bool(all[b]));
      ASSERT_EQ(found.immediate[b] != None, bool(all[b]));
      if (!all[b])
        continue;
      ASSERT_EQ(found.order[found.position[b]], b);
      for (uint32_t a = 0; a < nodes; ++a)
        if (all[a]) {
          ASSERT_EQ(found.dominates(a, b), !reachable(graph, entry, a)[b])
              << a << " " << b;
        }
      // The other dominators of b dominate the immediate one.
      for (uint32_t a = 0; a < nodes; ++a)
        if (b != entry && all[a] && a != b && found.dominates(a, b)) {
          ASSERT_TRUE(found.dominates(a, found.immediate[b]));
        }
    }
  }
}
