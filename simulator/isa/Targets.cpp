// simulator/isa/Targets.cpp - limits of the PTX targets.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "simulator/isa/Targets.h"

#include "support/Lists.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

namespace tessera::sim {
namespace {

using Words = std::vector<std::string_view>;

Words splitAll(std::string_view text, char separator) {
  Words words;
  while (true) {
    const size_t end = text.find(separator);
    words.push_back(text.substr(0, end));
    if (end == std::string_view::npos)
      return words;
    text.remove_prefix(end + 1);
  }
}

// An instruction whose mnemonic is one of `mnemonics` ("*": any) needs the
// capability if its suffixes include an alternative of each of `suffixes`.
struct Rule {
  std::string_view mnemonics, suffixes;
  uint32_t capability;
};

// Source: PTX ISA 8.7, "Target ISA Notes" of each instruction. TargetsTest
// compares them with what ptxas accepts.
constexpr Rule rules[] = {
    {"ldmatrix|movmatrix", "", 75},
    {"stmatrix", "", 90},
    {"cp", "async", 80},
    {"cp", "bulk", 90},
    {"mbarrier|createpolicy|discard|applypriority|redux", "", 80},
    {"elect|griddepcontrol|cluster", "", 90},
    {"atom|red", "bf16|bf16x2", 90},
    {"atom|red", "v2|v4|v8", 90},
    {"add|sub|mul", "bf16|bf16x2", 90},
    {"add", "u16x2|s16x2", 90},
    {"add|sub|mul|fma", "f32x2", 100},
    {"fma", "bf16|bf16x2|relu", 80},
    {"min|max", "f16|f16x2|bf16|bf16x2|NaN", 80},
    {"min|max", "xorsign", 86},
    {"min|max", "u16x2|s16x2", 90},
    {"min|max", "relu s32", 90},
    {"abs|neg", "bf16|bf16x2", 80},
    {"ex2", "f16|f16x2", 75},
    {"tanh", "", 75},
    {"ex2|tanh", "bf16|bf16x2", 90},
    {"setp|set", "bf16|bf16x2", 90},
    {"cvt", "pack", 75},
    {"cvt", "f16x2|bf16x2|bf16|tf32|relu", 80},
    {"cvt", "e4m3x2|e5m2x2", 89},
    {"cvt", "tf32 rn|rz", 90},
    {"cvt", "bf16 u8|s8|u16|s16|u32|s32|u64|s64|f16|f64", 90},
    {"fence", "proxy async|async::global|async::shared::cta", 90},
    {"prefetch", "L2::evict_last|L2::evict_normal", 80},
    {"*", "L2::64B|L2::128B", 75},
    {"*", "L2::256B|L2::cache_hint", 80},
    {"*", "cluster|shared::cluster", 90},
    {"mma", "m16n8k8|m8n8k16|m8n8k32", 75},
    {"mma", "m16n8k4|m16n8k16|m16n8k32|m16n8k64|m16n8k128|m16n8k256", 80},
    {"mma", "bf16|tf32|f64", 80},
    {"mma", "f64 m16n8k4|m16n8k8|m16n8k16", 90},
    {"mma", "e4m3|e5m2", 89},
};

bool applies(const Rule &rule, std::string_view mnemonic,
             const Words &suffixes) {
  if (rule.mnemonics != "*" &&
      !isListed(splitAll(rule.mnemonics, '|'), mnemonic))
    return false;
  if (rule.suffixes.empty())
    return true;
  const Words groups = splitAll(rule.suffixes, ' ');
  return std::all_of(groups.begin(), groups.end(), [&](std::string_view group) {
    const Words alternatives = splitAll(group, '|');
    return std::any_of(
        alternatives.begin(), alternatives.end(),
        [&](std::string_view word) { return isListed(suffixes, word); });
  });
}

} // namespace

uint32_t requiredCapability(std::string_view opcode) {
  Words suffixes = splitAll(opcode, '.');
  const std::string_view mnemonic = suffixes.front();
  suffixes.erase(suffixes.begin());
  uint32_t capability = 0;
  for (const Rule &rule : rules)
    if (rule.capability > capability && applies(rule, mnemonic, suffixes))
      capability = rule.capability;
  return capability;
}

uint32_t capabilityOf(std::string_view target) {
  uint32_t capability = 0;
  if (target.starts_with("sm_"))
    std::from_chars(target.data() + 3, target.data() + target.size(),
                    capability);
  return capability;
}

uint32_t sharedLimit(uint32_t capability) {
  switch (capability) {
  case 70:
  case 72:
    return 96 * 1024;
  case 75:
    return 64 * 1024;
  case 80:
  case 87:
    return 163 * 1024;
  case 86:
  case 89:
  case 120:
    return 99 * 1024;
  default:
    return capability && capability < 70 ? staticSharedLimit : 227 * 1024;
  }
}

} // namespace tessera::sim
