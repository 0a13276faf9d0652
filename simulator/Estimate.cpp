// simulator/Estimate.cpp - estimates the cycles on a device from a launch's
// counters.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "simulator/Estimate.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace tessera::sim {

double multiplyAdds(const std::string &opcode) {
  size_t at = opcode.find(".m");
  while (at != std::string::npos) {
    unsigned m = 0, n = 0, k = 0;
    if (std::sscanf(opcode.c_str() + at, ".m%un%uk%u", &m, &n, &k) == 3)
      return static_cast<double>(m) * n * k;
    at = opcode.find(".m", at + 1);
  }
  return 0;
}

Estimate estimate(const Counters &c, const Device &d) {
  Estimate e;
  double warpsPerBlock =
      c.blocks ? static_cast<double>(c.warps) / static_cast<double>(c.blocks)
               : 1;
  uint32_t fit = std::min<uint32_t>(
      d.maxBlocks, static_cast<uint32_t>(d.maxWarps / warpsPerBlock));
  // The system reserves 1 KiB of shared memory for each block.
  if (c.sharedBytes)
    fit = std::min(fit, d.sharedBytes / (c.sharedBytes + 1024));
  e.blocksPerSm = std::max(fit, 1u);
  // The SM with the most blocks ends last.
  double perSm = std::ceil(static_cast<double>(c.blocks) / d.sms);
  e.busySms = static_cast<double>(c.blocks) / (perSm * d.sms);
  double share = c.blocks ? perSm / static_cast<double>(c.blocks) : 0;

  double tensor = 0, shared = 0;
  for (const InstructionCount &i : c.instructions) {
    if (i.kind == Class::Tensor)
      tensor += static_cast<double>(i.issues) * multiplyAdds(i.opcode) *
                (i.opcode.find("tf32") != std::string::npos ? 2 : 1) *
                (i.opcode.find("f64") != std::string::npos ? 16 : 1);
    shared += static_cast<double>(i.ways);
  }
  auto add = [&](const char *name, double cycles) {
    e.units.emplace_back(name, cycles);
    if (cycles > e.cycles) {
      e.cycles = cycles;
      e.limit = name;
    }
  };
  add("issue", static_cast<double>(c.warpInstructions) * share / d.issueWarps);
  for (unsigned k = 0; k < NumClasses; ++k)
    if (d.lanes[k] > 0 && c.byClass[k])
      add(className(static_cast<Class>(k)),
          static_cast<double>(c.byClass[k]) * share * 32 / d.lanes[k]);
  add("tensor", tensor * share / d.tensorFma);
  add("shared memory", shared * 128 * share / d.sharedBytesPerCycle);
  add("L2", static_cast<double>(c.globalSectors) * 32 / d.l2BytesPerCycle);
  add("memory",
      static_cast<double>(c.l2Lines) * 128 / (d.dramGbytes * 1e3 / d.clockMhz));
  e.cycles += d.launchCycles;
  e.microseconds = e.cycles / d.clockMhz;
  return e;
}

} // namespace tessera::sim
