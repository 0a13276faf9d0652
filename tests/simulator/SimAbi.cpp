// tests/simulator/SimAbi.cpp - the simulator as C functions, for the Python
// side of tests/simulator.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Texts that a function returns belong to the caller, who gives them to
// tessera_sim_free. A reply is JSON: {"error": ...}, or the function's result.
#include "simulator/Sim.h"
#include "support/Error.h"
#include "support/Json.h"

#include <algorithm>
#include <cstring>
#include <map>

using namespace tessera;

namespace {

char *copyOf(const Json &json) { return strdup(json.dump().c_str()); }

Json errorOf(const std::exception &error) { return {{"error", error.what()}}; }

Json findingJson(const sim::Finding &f) {
  return {{"check", sim::checkName(f.check)},
          {"message", f.message},
          {"source", f.source},
          {"line", f.sourceLine},
          {"ptx_line", f.ptxLine},
          {"instruction", f.instruction},
          {"place", f.place},
          {"text", f.text()}};
}

Json countersJson(const sim::Counters &c) {
  return {{"warp_instructions", c.warpInstructions},
          {"lane_instructions", c.laneInstructions},
          {"tensor_instructions", c.tensorInstructions},
          {"shared_requests", c.sharedRequests},
          {"shared_ways", c.sharedWays},
          {"bank_conflicts", c.sharedConflicts},
          {"copy_passes", c.copyWays},
          {"copy_conflicts", c.copyConflicts},
          {"global_requests", c.globalRequests},
          {"global_sectors", c.globalSectors},
          {"l2_lines", c.l2Lines},
          {"async_groups", c.asyncMaxGroups},
          {"barriers", c.barriers},
          {"blocks", c.blocks}};
}

// Shared-memory instructions that took more passes than their widths need.
Json conflictsJson(const sim::Counters &counters) {
  Json conflicts = Json::array();
  for (const sim::InstructionCount &count : counters.instructions)
    if (count.ways > count.leastWays)
      conflicts.push_back({{"ptx_line", count.ptxLine},
                           {"opcode", count.opcode},
                           {"conflicts", count.ways - count.leastWays}});
  return conflicts;
}

// Accesses of global memory, one each: [source, ptx line, opcode, requests,
// sectors].
Json accessesJson(const sim::Counters &c) {
  Json list = Json::array();
  for (const sim::InstructionCount &i : c.instructions)
    if (i.sectors)
      list.push_back(
          Json::array({i.source, i.ptxLine, i.opcode, i.requests, i.sectors}));
  return list;
}

// How often warps executed each line of the PTX, lanes at work or not: [line,
// times]. Of several instructions in a line the one that ran most counts.
Json issuesJson(const sim::Counters &counters) {
  std::map<uint32_t, uint64_t> lines;
  for (const sim::InstructionCount &count : counters.instructions) {
    uint64_t &most = lines[count.ptxLine];
    most = std::max(most, count.issues);
  }
  return lines;
}

} // namespace

// Flags of a range and of a launch.
enum { RangeReadOnly = 1, RangeUninitialized = 2 };
enum {
  LaunchSerial = 1,
  LaunchUnchecked = 2,
  LaunchIssues = 4,
  LaunchAtIssue = 8, // copies read their source when they are issued
  LaunchA100 = 16,   // tensor cores add as those of an A100
  LaunchH100 = 32,
  LaunchApart = 64 // lanes of a warp run apart
};

extern "C" {

#define EXPORT __attribute__((visibility("default")))

// A module, or null and `reply` {"error"}. reply else: {"kernels": {name:
// {"params": [bytes], "block": [x, y, z], "shared": bytes}}}.
EXPORT void *tessera_sim_load(const char *ptx, const char *name, char **reply) {
  try {
    auto module = std::make_unique<sim::Module>(sim::Module::load(ptx, name));
    Json kernels = Json::object();
    for (const std::string &kernel : module->kernels())
      kernels[kernel] = {{"params", module->parameterBytes(kernel)},
                         {"block", module->requiredBlock(kernel)},
                         {"shared", module->staticShared(kernel)}};
    *reply = copyOf({{"kernels", kernels}, {"target", module->target()}});
    return module.release();
  } catch (const std::exception &error) {
    *reply = copyOf(errorOf(error));
    return nullptr;
  }
}

EXPORT void tessera_sim_unload(void *module) {
  delete static_cast<sim::Module *>(module);
}

EXPORT void tessera_sim_free(char *text) { free(text); }

// values: one 8-byte slot for each parameter, of which the low `params` bytes
// count. maxInstructions 0: the default. seed: sim::Options::seed. blocks: the
// numbers of those that run, ascending; none: all.
EXPORT char *tessera_sim_launch(void *module, const char *kernel,
                                const uint32_t *grid, const uint32_t *block,
                                uint32_t dynamicShared, uint32_t count,
                                const uint64_t *values, uint32_t ranges,
                                const char *const *names,
                                void *const *addresses, const uint64_t *bytes,
                                const uint32_t *rangeFlags, uint32_t flags,
                                uint64_t maxInstructions, uint64_t seed,
                                const uint64_t *blocks, uint32_t blockCount) {
  try {
    const auto &loaded = *static_cast<sim::Module *>(module);
    const std::vector<uint32_t> sizes = loaded.parameterBytes(kernel);
    if (sizes.size() != count)
      throw Error("the kernel has " + std::to_string(sizes.size()) +
                  " parameters, the launch " + std::to_string(count));
    std::vector<sim::Param> params;
    for (uint32_t i = 0; i < count; ++i) {
      sim::Param param = sim::scalar(values[i]);
      param.bytes.resize(sizes[i]);
      params.push_back(std::move(param));
    }
    sim::Memory memory;
    for (uint32_t i = 0; i < ranges; ++i)
      memory.add(names[i], addresses[i], bytes[i],
                 !(rangeFlags[i] & RangeReadOnly),
                 !(rangeFlags[i] & RangeUninitialized));
    sim::Options options;
    options.serial = flags & LaunchSerial;
    options.seed = seed;
    options.blocks.assign(blocks, blocks + blockCount);
    options.copiesReadAtIssue = flags & LaunchAtIssue;
    options.lanesApart = flags & LaunchApart;
    options.tensorCores = flags & LaunchA100   ? sim::TensorCores::A100
                          : flags & LaunchH100 ? sim::TensorCores::H100
                                               : sim::TensorCores::Fused;
    if (flags & LaunchUnchecked)
      options.races = options.uninitialized = options.overflow = false;
    if (maxInstructions)
      options.maxInstructions = maxInstructions;
    sim::Report report = loaded.launch(kernel, {grid[0], grid[1], grid[2]},
                                       {block[0], block[1], block[2]},
                                       dynamicShared, params, memory, options);
    Json findings = Json::array();
    for (const sim::Finding &finding : report.findings)
      findings.push_back(findingJson(finding));
    Json reply = {{"findings", findings},
                  {"output", report.output},
                  {"counters", countersJson(report.counters)},
                  {"conflicts", conflictsJson(report.counters)},
                  {"accesses", accessesJson(report.counters)}};
    if (flags & LaunchIssues)
      reply["issues"] = issuesJson(report.counters);
    return copyOf(reply);
  } catch (const std::exception &error) {
    return copyOf(errorOf(error));
  }
}
}
