// tools/bench/DevicePeak.cpp - measures or looks up the peak rate of a device.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/DevicePeak.h"

#include "autotune/model/Devices.h"
#include "runtime/device/cuda/Peaks.h"
#include "support/File.h"

#include <algorithm>
#include <chrono>
#include <immintrin.h>

namespace tessera::bench {

namespace {

using Clock = std::chrono::steady_clock;

// Enough chains for two units with a latency of four cycles.
constexpr int chains = 12;

// Runs `rounds` rounds. noipa hides the body from callers, so each call
// computes the result.
__attribute__((noipa, target("avx512f"))) float multiplyAdd512(int rounds) {
  __m512 sums[chains];
  for (int i = 0; i < chains; ++i)
    sums[i] = _mm512_set1_ps(float(i));
  const __m512 a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(1e-3f);
  for (int round = 0; round < rounds; ++round)
#pragma GCC unroll 12 // otherwise sums spill to memory
    for (__m512 &sum : sums)
      sum = _mm512_fmadd_ps(sum, a, b);
  float all = 0;
  for (const __m512 &sum : sums)
    all += _mm512_cvtss_f32(sum);
  return all;
}

__attribute__((noipa, target("avx2,fma"))) float multiplyAdd256(int rounds) {
  __m256 sums[chains];
  for (int i = 0; i < chains; ++i)
    sums[i] = _mm256_set1_ps(float(i));
  const __m256 a = _mm256_set1_ps(0.999f), b = _mm256_set1_ps(1e-3f);
  for (int round = 0; round < rounds; ++round)
#pragma GCC unroll 12
    for (__m256 &sum : sums)
      sum = _mm256_fmadd_ps(sum, a, b);
  float all = 0;
  for (const __m256 &sum : sums)
    all += _mm256_cvtss_f32(sum);
  return all;
}

double flopPerSecond(float (*work)(int), int lanes) {
  constexpr int rounds = 20000, runs = 200;
  volatile float kept = work(rounds);
  double best = 0;
  for (int run = 0; run < runs; ++run) {
    const auto start = Clock::now();
    kept = work(rounds);
    const std::chrono::duration<double> passed = Clock::now() - start;
    best = std::max(best, 2.0 * chains * lanes * rounds / passed.count());
  }
  static_cast<void>(kept);
  return best;
}

// Returns the ratio of the peak of dense bf16 products to that of fp32
// multiply-adds, for libraries that use the instructions. Source: Intel 64 and
// IA-32 Architectures Optimization Reference Manual. AMX: 2048 operations per
// cycle; two AVX-512 units: 64; VDPBF16PS: twice as many.
double halfFactor() {
  const std::string flags = tryReadFile("/proc/cpuinfo").value_or("");
  return flags.find(" amx_bf16") != std::string::npos      ? 32
         : flags.find(" avx512_bf16") != std::string::npos ? 2
                                                           : 1;
}

} // namespace

Peak cpuPeak(int threads) {
  Peak peak;
  double one = 0;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    one = flopPerSecond(multiplyAdd256, 8);
  if (__builtin_cpu_supports("avx512f"))
    one = std::max(one, flopPerSecond(multiplyAdd512, 16));
  peak.single = one * threads;
  peak.half = peak.single * halfFactor();
  peak.source = "measured: fused multiply-adds of one thread, times threads";
  return peak;
}

Peak gpuPeak(int ordinal, bool tf32) {
  const auto &driver = runtime::cuda::Driver::instance(ordinal);
  for (const tune::GpuData &gpu : tune::gpus())
    if (gpu.model == driver.gpu())
      return {gpu.bf16Tflops * 1e12,
              (tf32 ? gpu.tf32Tflops : gpu.fp32Tflops) * 1e12,
              "autotune/model/devices.yaml: " + gpu.rates.name};
  const runtime::cuda::Peaks peaks = runtime::cuda::peaksOf(driver);
  return {peaks.half, tf32 ? peaks.tf32 : peaks.fp32,
          "the driver's clocks and multiprocessors"};
}

} // namespace tessera::bench
