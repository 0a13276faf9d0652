// ptx/Loops.cpp - loops of a listing.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ptx/Dominators.h"
#include "ptx/Listing.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace tessera::ptx {
namespace {

using Blocks = std::vector<std::pair<size_t, size_t>>;

FlowGraph graphOf(const Listing &listing, const Blocks &blocks) {
  FlowGraph graph(blocks.size());
  std::map<size_t, uint32_t> blockAt;
  for (uint32_t b = 0; b < blocks.size(); ++b)
    blockAt[blocks[b].first] = b;
  for (uint32_t b = 0; b < blocks.size(); ++b) {
    const ListedInstruction &last = listing.code[blocks[b].second - 1];
    const auto connect = [&](size_t at) {
      if (auto found = blockAt.find(at); found != blockAt.end())
        graph.connect(b, found->second);
    };
    for (size_t target : last.targets)
      connect(target);
    if (last.fallsThrough)
      connect(blocks[b].second);
  }
  return graph;
}

// Head -> blocks of its loop.
std::map<uint32_t, std::set<uint32_t>> loopsOf(const FlowGraph &graph,
                                               const Dominators &dominators) {
  std::map<uint32_t, std::set<uint32_t>> found;
  for (uint32_t tail : dominators.order)
    for (uint32_t head : graph.next[tail]) {
      if (!dominators.dominates(head, tail))
        continue;
      std::set<uint32_t> &loop = found[head];
      loop.insert(head);
      std::vector<uint32_t> work = {tail};
      while (!work.empty()) {
        const uint32_t block = work.back();
        work.pop_back();
        if (dominators.position[block] == None || !loop.insert(block).second)
          continue;
        for (uint32_t from : graph.previous[block])
          work.push_back(from);
      }
    }
  return found;
}

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
InstructionCounts iterationOf(const Listing &listing, const Blocks &blocks,
                              const FlowGraph &graph,
                              const std::vector<uint32_t> &order, uint32_t head,
                              const std::set<uint32_t> &loop) {
  std::map<uint32_t, InstructionCounts> ways; // to the end of a block
  const InstructionCounts *best = nullptr;
  for (uint32_t block : order) {
    if (!loop.count(block))
      continue;
    const InstructionCounts *way = nullptr;
    for (uint32_t from : graph.previous[block])
      if (auto found = ways.find(from); block != head && found != ways.end())
        if (!way || better(found->second, *way))
          way = &found->second;
    if (!way && block != head)
      continue;
    InstructionCounts counts = way ? *way : InstructionCounts();
    for (size_t i = blocks[block].first; i < blocks[block].second; ++i)
      counts.add(listing.code[i].kind);
    const InstructionCounts &kept = ways[block] = counts;
    const auto &next = graph.next[block];
    if (std::find(next.begin(), next.end(), head) != next.end() &&
        (!best || better(kept, *best)))
      best = &kept;
  }
  return best ? *best : InstructionCounts();
}

} // namespace

std::vector<std::pair<size_t, size_t>> basicBlocks(const Listing &listing) {
  const auto &code = listing.code;
  std::set<size_t> starts(listing.labels.begin(), listing.labels.end());
  starts.insert({0, code.size()});
  for (size_t i = 0; i < code.size(); ++i)
    if (!code[i].targets.empty() || !code[i].fallsThrough ||
        code[i].opcode.starts_with("EXIT")) // some threads may end here
      starts.insert(i + 1);
  std::vector<std::pair<size_t, size_t>> blocks;
  for (auto it = starts.begin(); *it < code.size(); ++it)
    blocks.emplace_back(*it, *std::next(it));
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
  if (listing.code.empty())
    return;
  const Blocks blocks = basicBlocks(listing);
  const FlowGraph graph = graphOf(listing, blocks);
  const Dominators dominators = dominatorsOf(graph, 0);
  // Where the kernel itself begins: lines before it are those of helpers.
  uint32_t own = 0, begin = 0;
  for (const ListedInstruction &instruction : listing.code)
    if (instruction.place.line) {
      own = instruction.place.file;
      begin = instruction.place.line;
      break;
    }
  const auto loops = loopsOf(graph, dominators);
  for (const auto &[head, inside] : loops) {
    ListedLoop loop;
    loop.textLine = listing.code[blocks[head].first].textLine;
    for (const auto &[other, members] : loops) {
      if (other == head)
        continue;
      loop.depth += members.count(head) != 0;
      loop.innermost = loop.innermost && !inside.count(other);
    }
    for (uint32_t block : inside)
      for (size_t i = blocks[block].first; i < blocks[block].second; ++i) {
        const ListedInstruction &instruction = listing.code[i];
        loop.body.push_back(i);
        loop.counts.add(instruction.kind);
        const SourcePlace place = instruction.place;
        if (place.line < std::max(begin, 1u) || place.file != own)
          continue;
        loop.firstLine =
            loop.firstLine ? std::min(loop.firstLine, place.line) : place.line;
        loop.lastLine = std::max(loop.lastLine, place.line);
      }
    std::rotate(loop.body.begin(),
                std::lower_bound(loop.body.begin(), loop.body.end(),
                                 blocks[head].first),
                loop.body.end());
    loop.iteration = loop.innermost
                         ? iterationOf(listing, blocks, graph, dominators.order,
                                       head, inside)
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
