// tools/inspect/Timeline.cpp - what an iteration of the main loop does, in
// order.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/Timeline.h"

#include <algorithm>
#include <charconv>

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

// N of "cp.async.wait_group N;", 0 of wait_all.
uint32_t groupsLeft(const std::string &line) {
  const size_t at = line.find("wait_group");
  uint32_t number = 0;
  if (at != std::string::npos) {
    const size_t digit = line.find_first_of("0123456789", at);
    if (digit != std::string::npos)
      std::from_chars(line.data() + digit, line.data() + line.size(), number);
  }
  return number;
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

// Where each instruction may come from, by index.
std::vector<std::vector<size_t>> predecessorsOf(const Listing &ptx) {
  std::vector<std::vector<size_t>> from(ptx.code.size());
  for (size_t i = 0; i < ptx.code.size(); ++i) {
    if (ptx.code[i].fallsThrough && i + 1 < ptx.code.size())
      from[i + 1].push_back(i);
    for (const std::string &target : ptx.code[i].targets)
      if (const auto found = ptx.labels.find(target);
          found != ptx.labels.end() && found->second < ptx.code.size())
        from[found->second].push_back(i);
  }
  return from;
}

// The instructions of a loop: its head, and what leads back to it without the
// kernel's entry. In the order of the text from the head on; what stands before
// the head comes last, as it runs.
std::vector<size_t> bodyOf(const Listing &ptx, const ListedLoop &loop) {
  size_t head = 0;
  while (head < ptx.code.size() && ptx.code[head].textLine != loop.textLine)
    ++head;
  const auto from = predecessorsOf(ptx);
  std::vector<bool> inside(ptx.code.size());
  if (head == ptx.code.size())
    return {};
  inside[head] = true;
  for (const size_t tail : from[head]) {
    std::vector<size_t> work = {tail};
    std::vector<bool> seen(ptx.code.size());
    seen[head] = seen[tail] = true;
    while (!work.empty()) {
      const size_t at = work.back();
      work.pop_back();
      for (const size_t before : from[at])
        if (!seen[before]) {
          seen[before] = true;
          work.push_back(before);
        }
    }
    if (head == 0 || !seen[0]) // else it comes from outside
      for (size_t i = 0; i < seen.size(); ++i)
        inside[i] = inside[i] || seen[i];
  }
  std::vector<size_t> body;
  for (size_t step = 0; step < inside.size(); ++step)
    if (const size_t at = (head + step) % inside.size(); inside[at])
      body.push_back(at);
  return body;
}

// Iterations are run until the group is waited for: a wait for all but the
// latest N groups waits for one that has N behind it.
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

Json timelineJson(const Listing &ptx, const std::vector<std::string> &lines) {
  const ListedLoop *loop = mainLoop(ptx);
  if (!loop)
    return {};
  std::vector<std::string> kinds;
  std::vector<uint32_t> left;
  Json rows = Json::array();
  for (const size_t i : bodyOf(ptx, *loop)) {
    const uint32_t row = ptx.code[i].textLine - 1;
    rows.push_back(row);
    kinds.emplace_back(kindOf(ptx.code[i]));
    left.push_back(row < lines.size() ? groupsLeft(lines[row]) : 0);
  }
  return {{"lines",
           loop->firstLine ? Json{loop->firstLine, loop->lastLine} : Json()},
          {"rows", rows},
          {"kinds", kinds},
          {"groups", groupsOf(kinds, left)}};
}

} // namespace tessera::tools
