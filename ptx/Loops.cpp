// ptx/Loops.cpp - loops of a listing.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ptx/Listing.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace tessera::ptx {
namespace {

constexpr size_t none = SIZE_MAX;

struct Block {
  size_t begin = 0, end = 0; // instructions
  std::vector<size_t> next, previous;
  size_t order = none; // in reverse postorder; none: not reachable
  size_t dominator = none;
};

struct Graph {
  std::vector<Block> blocks;
  std::vector<size_t> order;

  explicit Graph(const Listing &listing) {
    split(listing);
    number();
    dominate();
  }

  void split(const Listing &listing) {
    const auto &code = listing.code;
    std::map<size_t, size_t> blockAt;
    for (const auto &[begin, end] : basicBlocks(listing)) {
      blockAt[begin] = blocks.size();
      Block &block = blocks.emplace_back();
      block.begin = begin;
      block.end = end;
    }
    for (size_t b = 0; b < blocks.size(); ++b) {
      const ListedInstruction &last = code[blocks[b].end - 1];
      const auto connect = [&](size_t at) {
        if (auto found = blockAt.find(at); found != blockAt.end()) {
          blocks[b].next.push_back(found->second);
          blocks[found->second].previous.push_back(b);
        }
      };
      for (const std::string &target : last.targets)
        if (auto found = listing.labels.find(target);
            found != listing.labels.end())
          connect(found->second);
      if (last.fallsThrough)
        connect(blocks[b].end);
    }
  }

  void number() {
    if (blocks.empty())
      return;
    std::vector<std::pair<size_t, size_t>> stack = {{0, 0}};
    std::vector<bool> seen(blocks.size());
    seen[0] = true;
    while (!stack.empty()) {
      auto &[block, edge] = stack.back();
      if (edge < blocks[block].next.size()) {
        const size_t to = blocks[block].next[edge++];
        if (!seen[to]) {
          seen[to] = true;
          stack.emplace_back(to, 0);
        }
      } else {
        order.push_back(block);
        stack.pop_back();
      }
    }
    std::reverse(order.begin(), order.end());
    for (size_t i = 0; i < order.size(); ++i)
      blocks[order[i]].order = i;
  }

  // Cooper, Harvey, Kennedy, "A simple, fast dominance algorithm", 2001.
  void dominate() {
    if (blocks.empty())
      return;
    blocks[0].dominator = 0;
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t block : order) {
        if (block == 0)
          continue;
        size_t best = none;
        for (size_t from : blocks[block].previous)
          if (blocks[from].dominator != none)
            best = best == none ? from : meet(best, from);
        if (best != blocks[block].dominator) {
          blocks[block].dominator = best;
          changed = true;
        }
      }
    }
  }

  size_t meet(size_t a, size_t b) const {
    while (a != b) {
      while (blocks[a].order > blocks[b].order)
        a = blocks[a].dominator;
      while (blocks[b].order > blocks[a].order)
        b = blocks[b].dominator;
    }
    return a;
  }

  bool dominates(size_t a, size_t b) const {
    while (blocks[b].order > blocks[a].order)
      b = blocks[b].dominator;
    return a == b;
  }

  // Head -> blocks of its loop.
  std::map<size_t, std::set<size_t>> loops() const {
    std::map<size_t, std::set<size_t>> found;
    for (size_t tail : order)
      for (size_t head : blocks[tail].next) {
        if (!dominates(head, tail))
          continue;
        std::set<size_t> &loop = found[head];
        loop.insert(head);
        std::vector<size_t> work = {tail};
        while (!work.empty()) {
          const size_t block = work.back();
          work.pop_back();
          if (blocks[block].order == none || !loop.insert(block).second)
            continue;
          for (size_t from : blocks[block].previous)
            work.push_back(from);
        }
      }
    return found;
  }
};

// What an iteration is there for: tensor instructions, memory but the stack,
// barriers. All else is overhead.
uint32_t duties(const InstructionCounts &counts) {
  using C = InstructionClass;
  uint32_t result = 0;
  for (C kind :
       {C::Mma, C::LoadMatrix, C::AsyncCopy, C::LoadGlobal, C::StoreGlobal,
        C::LoadShared, C::StoreShared, C::Atomic, C::Barrier})
    result += counts[kind];
  return result;
}

bool better(const InstructionCounts &a, const InstructionCounts &b) {
  if (duties(a) != duties(b))
    return duties(a) > duties(b);
  return a.total() < b.total();
}

// From the head of an innermost loop back to it by the best way.
InstructionCounts iterationOf(const Graph &graph, const Listing &listing,
                              size_t head, const std::set<size_t> &loop) {
  std::map<size_t, InstructionCounts> ways; // to the end of a block
  const InstructionCounts *best = nullptr;
  for (size_t block : graph.order) {
    if (!loop.count(block))
      continue;
    const InstructionCounts *way = nullptr;
    for (size_t from : graph.blocks[block].previous)
      if (auto found = ways.find(from); block != head && found != ways.end())
        if (!way || better(found->second, *way))
          way = &found->second;
    if (!way && block != head)
      continue;
    InstructionCounts counts = way ? *way : InstructionCounts();
    for (size_t i = graph.blocks[block].begin; i < graph.blocks[block].end; ++i)
      counts.add(listing.code[i].kind);
    const InstructionCounts &kept = ways[block] = counts;
    const auto &next = graph.blocks[block].next;
    if (std::find(next.begin(), next.end(), head) != next.end() &&
        (!best || better(kept, *best)))
      best = &kept;
  }
  return best ? *best : InstructionCounts();
}

} // namespace

std::vector<std::pair<size_t, size_t>> basicBlocks(const Listing &listing) {
  const auto &code = listing.code;
  std::set<size_t> starts = {0};
  for (const auto &[name, at] : listing.labels)
    starts.insert(at);
  for (size_t i = 0; i < code.size(); ++i)
    if (!code[i].targets.empty() || !code[i].fallsThrough ||
        code[i].opcode.starts_with("EXIT")) // some threads may end here
      starts.insert(i + 1);
  std::vector<std::pair<size_t, size_t>> blocks;
  for (auto it = starts.begin(); it != starts.end() && *it < code.size();
       ++it) {
    const auto after = std::next(it);
    blocks.emplace_back(*it, after == starts.end()
                                 ? code.size()
                                 : std::min(*after, code.size()));
  }
  return blocks;
}

uint32_t InstructionCounts::total() const {
  return std::accumulate(by.begin(), by.end(), 0u);
}

void analyzeLoops(Listing &listing) {
  listing.counts = {};
  listing.loops.clear();
  for (const ListedInstruction &instruction : listing.code)
    listing.counts.add(instruction.kind);
  const Graph graph(listing);
  // Where the kernel itself begins: lines before it are those of helpers.
  uint32_t own = 0, begin = 0;
  for (const ListedInstruction &instruction : listing.code)
    if (instruction.place.line) {
      own = instruction.place.file;
      begin = instruction.place.line;
      break;
    }
  const auto loops = graph.loops();
  for (const auto &[head, blocks] : loops) {
    ListedLoop loop;
    loop.textLine = listing.code[graph.blocks[head].begin].textLine;
    for (const auto &[other, members] : loops) {
      if (other == head)
        continue;
      loop.depth += members.count(head) != 0;
      loop.innermost = loop.innermost && !blocks.count(other);
    }
    for (size_t block : blocks)
      for (size_t i = graph.blocks[block].begin; i < graph.blocks[block].end;
           ++i) {
        const ListedInstruction &instruction = listing.code[i];
        loop.counts.add(instruction.kind);
        const SourcePlace place = instruction.place;
        if (place.line < std::max(begin, 1u) || place.file != own)
          continue;
        loop.firstLine =
            loop.firstLine ? std::min(loop.firstLine, place.line) : place.line;
        loop.lastLine = std::max(loop.lastLine, place.line);
      }
    loop.iteration = loop.innermost ? iterationOf(graph, listing, head, blocks)
                                    : loop.counts;
    listing.loops.push_back(loop);
  }
  std::stable_sort(listing.loops.begin(), listing.loops.end(),
                   [](const ListedLoop &a, const ListedLoop &b) {
                     return a.textLine < b.textLine;
                   });
}

double loopNonTensorPerTensor(const Listing &listing) {
  uint64_t tensor = 0, other = 0;
  for (const ListedLoop &loop : listing.loops)
    if (const uint32_t own = loop.iteration[InstructionClass::Mma];
        loop.innermost && own) {
      tensor += own;
      other += loop.iteration.total() - own;
    }
  return tensor ? double(other) / double(tensor) : -1;
}

} // namespace tessera::ptx
