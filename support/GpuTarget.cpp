// support/GpuTarget.cpp - resource limits of a GPU's compute capability.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/GpuTarget.h"

#include "support/Error.h"

#include <algorithm>

namespace tessera {
namespace {

struct Row {
  uint32_t capability;
  uint32_t sharedPerSm; // KiB; a block may use all but one
  uint32_t warpsPerSm;
  uint32_t blocksPerSm;
};

constexpr Row rows[] = {
    {80, 164, 64, 32}, // A100
    {86, 100, 48, 16}, // RTX 30, A10, A40
    {89, 100, 48, 24}, // RTX 40, L4, L40
    {90, 228, 64, 32}, // H100, H200
};

uint64_t roundUp(uint64_t value, uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

} // namespace

std::vector<std::string> GpuTarget::names() {
  std::vector<std::string> result;
  for (const Row &row : rows)
    result.push_back("sm_" + std::to_string(row.capability));
  return result;
}

GpuTarget GpuTarget::parse(std::string_view text) {
  for (const Row &row : rows) {
    GpuTarget target;
    target.name = "sm_" + std::to_string(row.capability);
    if (text != target.name)
      continue;
    target.computeCapability = row.capability;
    target.sharedPerSm = row.sharedPerSm * 1024;
    target.sharedPerBlock = (row.sharedPerSm - 1) * 1024;
    target.warpsPerSm = row.warpsPerSm;
    target.threadsPerSm = row.warpsPerSm * 32;
    target.blocksPerSm = row.blocksPerSm;
    return target;
  }
  std::string list;
  for (const std::string &name : names())
    list += (list.empty() ? "" : ", ") + name;
  if (text == "sm_90a")
    throw Error("no code for sm_90a yet",
                "sm_90 runs on the same devices; known: " + list);
  throw Error("`" + std::string(text) + "` is not a GPU target",
              "known: " + list);
}

Occupancy GpuTarget::occupancy(uint32_t registers, uint64_t sharedBytes,
                               uint32_t threads) const {
  Occupancy result;
  if (threads == 0 || threads > threadsPerBlock)
    return {0, 0, "warps"};
  if (registers > registersPerThread)
    return {0, 0, "registers"};
  if (sharedBytes > sharedPerBlock)
    return {0, 0, "shared memory"};
  const uint32_t warps = uint32_t(roundUp(threads, 32) / 32);
  const auto perWarp =
      uint32_t(roundUp(std::max(registers, 1u) * 32, registerUnit));
  // The warps of a block are distributed over the SM's partitions.
  uint32_t byRegisters = registersPerSm / partitions / perWarp * partitions;
  if (uint64_t(perWarp) * roundUp(warps, partitions) > registersPerBlock)
    byRegisters = 0;
  const uint64_t shared = roundUp(sharedBytes, sharedUnit) + sharedReserved;
  const std::pair<uint32_t, const char *> limits[] = {
      {byRegisters / warps, "registers"},
      {uint32_t(sharedPerSm / shared), "shared memory"},
      {warpsPerSm / warps, "warps"},
      {blocksPerSm, "blocks"}};
  result.blocks = UINT32_MAX;
  for (const auto &[blocks, what] : limits)
    if (blocks < result.blocks) {
      result.blocks = blocks;
      result.limit = what;
    }
  result.warps = result.blocks * warps;
  return result;
}

} // namespace tessera
