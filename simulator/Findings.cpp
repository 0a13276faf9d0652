// simulator/Findings.cpp - prints findings as text.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "simulator/Findings.h"

#include "support/Error.h"

#include <algorithm>

namespace tessera::sim {
namespace {

std::string triple(const std::array<uint32_t, 3> &d) {
  return "(" + std::to_string(d[0]) + ", " + std::to_string(d[1]) + ", " +
         std::to_string(d[2]) + ")";
}

} // namespace

const char *checkName(Check check) {
  switch (check) {
  case Check::OutOfBounds:
    return "out-of-bounds";
  case Check::Misaligned:
    return "misaligned";
  case Check::Uninitialized:
    return "uninitialized";
  case Check::SharedRace:
    return "shared-race";
  case Check::AsyncRead:
    return "async-read";
  case Check::DivergentBarrier:
    return "divergent-barrier";
  case Check::Deadlock:
    return "deadlock";
  case Check::DivisionByZero:
    return "division-by-zero";
  case Check::GlobalConflict:
    return "global-conflict";
  case Check::AddressOverflow:
    return "address-overflow";
  case Check::ReadOnly:
    return "read-only";
  case Check::Assertion:
    return "assertion";
  case Check::Trap:
    return "trap";
  case Check::EndlessLoop:
    return "endless-loop";
  case Check::DivergentWarp:
    return "divergent-warp";
  case Check::Unsupported:
    return "unsupported";
  }
  return "";
}

std::string Finding::text() const {
  std::string text = kernel + ": " + checkName(check) + ": " + message;
  text += "\n  at    " + (source.empty() ? "" : source + ", ") + "PTX line " +
          std::to_string(ptxLine) + ": " + instruction;
  text += "\n  by    block " + triple(block) + ", thread " + triple(thread) +
          ", warp " + std::to_string(warp) + ", lane " + std::to_string(lane);
  if (!place.empty())
    text += "\n  place " + place;
  if (!history.empty())
    text += "\n  after " + history;
  return text;
}

std::string Report::text() const {
  std::string text;
  for (const Finding &f : findings)
    text += (text.empty() ? "" : "\n") + f.text();
  return text;
}

void Report::throwIfBad() const {
  if (!ok())
    throw Error(text(), "docs/simulator.md explains the check '" +
                            std::string(checkName(findings[0].check)) + "'");
}

void Counters::add(const Counters &other) {
  for (size_t i = 0; i < byClass.size(); ++i)
    byClass[i] += other.byClass[i];
  warpInstructions += other.warpInstructions;
  laneInstructions += other.laneInstructions;
  tensorInstructions += other.tensorInstructions;
  sharedRequests += other.sharedRequests;
  sharedWays += other.sharedWays;
  sharedConflicts += other.sharedConflicts;
  copyRequests += other.copyRequests;
  copyWays += other.copyWays;
  copyConflicts += other.copyConflicts;
  globalRequests += other.globalRequests;
  globalSectors += other.globalSectors;
  l2Lines += other.l2Lines;
  asyncMaxGroups = std::max(asyncMaxGroups, other.asyncMaxGroups);
  barriers += other.barriers;
  blocks += other.blocks;
  warps += other.warps;
  sharedBytes = std::max(sharedBytes, other.sharedBytes);
}

} // namespace tessera::sim
