// support/CpuTarget.h - the name of a CPU target: cpu:<mcpu>:<feature set>.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// Features a kernel may use beyond its x86-64 level, in the order of their bits
// in the target name. Append only: the names of cached artifacts depend on it.
inline constexpr std::array<const char *, 14> cpuFeatures = {
    "avx512f",    "avx512bw",     "avx512dq",   "avx512vl",       "avx512cd",
    "avx512vnni", "avx512bf16",   "avx512fp16", "avx512vbmi",     "avx512vbmi2",
    "avxvnni",    "avx512bitalg", "avx512ifma", "avx512vpopcntdq"};

// A CPU target such as "cpu:x86-64-v4:001f": an LLVM CPU name and the set of
// features above, as hexadecimal bits. The name holds everything that the
// compiler needs, so a machine can compile for the target of another one.
struct CpuTarget {
  std::string mcpu = "x86-64-v3";
  uint32_t features = 0;

  bool has(std::string_view feature) const {
    for (size_t i = 0; i < cpuFeatures.size(); ++i)
      if (feature == cpuFeatures[i])
        return features >> i & 1;
    return false;
  }

  // Returns the preferred vector width in bits.
  unsigned vectorBits() const {
    return has("avx512f") && has("avx512vl") && has("avx512bw") &&
                   has("avx512dq")
               ? 512
               : 256;
  }

  // Returns the features in LLVM's syntax: "+avx512f,+avx512bw".
  std::string llvmFeatures() const {
    std::string text;
    for (size_t i = 0; i < cpuFeatures.size(); ++i)
      if (features >> i & 1)
        text += (text.empty() ? "+" : ",+") + std::string(cpuFeatures[i]);
    return text;
  }

  std::string name() const {
    static const char *const digits = "0123456789abcdef";
    std::string text = "cpu:" + mcpu + ":";
    for (int shift = 12; shift >= 0; shift -= 4)
      text += digits[features >> shift & 15];
    return text;
  }

  // Parses a target. Returns nullopt if tessera does not compile for it.
  static std::optional<CpuTarget> parse(std::string_view text) {
    if (text.substr(0, 4) != "cpu:")
      return std::nullopt;
    text.remove_prefix(4);
    size_t colon = text.find(':');
    CpuTarget target;
    target.mcpu = std::string(text.substr(0, colon));
    if (target.mcpu != "x86-64-v3" && target.mcpu != "x86-64-v4")
      return std::nullopt;
    if (colon == std::string_view::npos)
      return std::nullopt;
    text.remove_prefix(colon + 1);
    if (text.size() != 4)
      return std::nullopt;
    for (char c : text) {
      uint32_t digit = c >= '0' && c <= '9'   ? uint32_t(c - '0')
                       : c >= 'a' && c <= 'f' ? uint32_t(c - 'a') + 10
                                              : 16;
      if (digit == 16)
        return std::nullopt;
      target.features = target.features << 4 | digit;
    }
    if (target.features >> cpuFeatures.size())
      return std::nullopt;
    return target;
  }

#if defined(__x86_64__)
  // Returns the target of this machine, or nullopt if it lacks AVX2, FMA or
  // F16C.
  static std::optional<CpuTarget> host() {
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("x86-64-v3"))
      return std::nullopt;
    CpuTarget target;
    if (__builtin_cpu_supports("x86-64-v4"))
      target.mcpu = "x86-64-v4";
    const bool present[] = {
        __builtin_cpu_supports("avx512f") != 0,
        __builtin_cpu_supports("avx512bw") != 0,
        __builtin_cpu_supports("avx512dq") != 0,
        __builtin_cpu_supports("avx512vl") != 0,
        __builtin_cpu_supports("avx512cd") != 0,
        __builtin_cpu_supports("avx512vnni") != 0,
        __builtin_cpu_supports("avx512bf16") != 0,
        __builtin_cpu_supports("avx512fp16") != 0,
        __builtin_cpu_supports("avx512vbmi") != 0,
        __builtin_cpu_supports("avx512vbmi2") != 0,
        __builtin_cpu_supports("avxvnni") != 0,
        __builtin_cpu_supports("avx512bitalg") != 0,
        __builtin_cpu_supports("avx512ifma") != 0,
        __builtin_cpu_supports("avx512vpopcntdq") != 0,
    };
    static_assert(std::size(present) == cpuFeatures.size());
    for (size_t i = 0; i < std::size(present); ++i)
      if (present[i])
        target.features |= 1u << i;
    return target;
  }
#endif
};

} // namespace tessera
