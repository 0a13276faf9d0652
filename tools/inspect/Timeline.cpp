// tools/inspect/Timeline.cpp - lists the operations of an iteration of the main
// loop, in order.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/Timeline.h"

namespace tessera::tools {
namespace {

using ptx::InstructionClass;
using ptx::ListedInstruction;
using ptx::ListedLoop;
using ptx::Listing;

const char *kindOf(const ListedInstruction &instruction) {
  const std::string &opcode = instruction.opcode;
  if (opcode.starts_with("cp.async.commit_group"))
    return "commit";
  if (opcode.starts_with("cp.async.wait"))
    return "wait";
  switch (instruction.kind) {
  case InstructionClass::Mma:
    return "mma";
  case InstructionClass::LoadMatrix:
    return "ldmatrix";
  case InstructionClass::AsyncCopy:
    return "copy";
  case InstructionClass::LoadGlobal:
    return "load";
  case InstructionClass::StoreGlobal:
  case InstructionClass::Atomic:
    return "store";
  case InstructionClass::LoadShared:
  case InstructionClass::StoreShared:
    return "shared";
  case InstructionClass::Barrier:
    return "barrier";
  case InstructionClass::Shuffle:
    return "shuffle";
  default:
    return "other";
  }
}

const ListedLoop *mainLoop(const Listing &ptx) {
  const ListedLoop *best = nullptr;
  const auto weight = [](const ListedLoop &loop) {
    return std::pair(loop.counts[InstructionClass::Mma],
                     loop.counts[InstructionClass::AsyncCopy] +
                         loop.counts[InstructionClass::LoadGlobal]);
  };
  for (const ListedLoop &loop : ptx.loops)
    if (loop.innermost && weight(loop) > std::pair(0u, 0u) &&
        (!best || weight(loop) > weight(*best)))
      best = &loop;
  return best;
}

// Simulates iterations until a wait covers the group. A wait for all but the
// latest N groups covers a group after which N others were committed.
Json groupsOf(const std::vector<std::string> &kinds,
              const std::vector<uint32_t> &left) {
  constexpr size_t mostRounds = 64;
  Json groups = Json::array();
  for (size_t commit = 0; commit < kinds.size(); ++commit) {
    if (kinds[commit] != "commit")
      continue;
    uint32_t behind = 0;
    bool found = false;
    for (size_t step = commit + 1; !found && step < kinds.size() * mostRounds;
         ++step) {
      const size_t at = step % kinds.size();
      behind += kinds[at] == "commit";
      if (kinds[at] != "wait" || left[at] > behind)
        continue;
      groups.push_back({{"commit", commit},
                        {"wait", at},
                        {"iterations", step / kinds.size()}});
      found = true;
    }
  }
  return groups;
}

} // namespace

Json timelineJson(const Listing &ptx) {
  const ListedLoop *loop = mainLoop(ptx);
  if (!loop)
    return {};
  std::vector<std::string> kinds;
  std::vector<uint32_t> left;
  Json rows = Json::array();
  for (const size_t i : loop->body) {
    rows.push_back(ptx.code[i].textLine - 1);
    kinds.emplace_back(kindOf(ptx.code[i]));
    left.push_back(ptx::asyncGroupsLeft(ptx.function.body[i]));
  }
  return {{"lines",
           loop->firstLine ? Json{loop->firstLine, loop->lastLine} : Json()},
          {"rows", rows},
          {"kinds", kinds},
          {"groups", groupsOf(kinds, left)}};
}

} // namespace tessera::tools
