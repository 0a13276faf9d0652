// tests/unit/codegen/TileKernel.h - tile IR as text, compiled and run here.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/cpu/Lower.h"
#include "codegen/cpu/object/Object.h"
#include "dialect/tile/TileDialect.h"
#include "tests/unit/codegen/LoadedKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace tessera {

/// The targets a kernel is tested on: AVX2 everywhere, AVX-512 where it is,
/// with the CPU's products of bf16 and without.
inline std::vector<CpuTarget> testTargets() {
  std::vector<CpuTarget> targets = {CpuTarget()};
  auto host = CpuTarget::host();
  if (host && host->vectorBits() == 512) {
    targets.push_back(*host);
    if (host->has("avx512bf16")) {
      const auto *feature = std::find(cpuFeatures.begin(), cpuFeatures.end(),
                                      std::string_view("avx512bf16"));
      host->features &= ~(1u << (feature - cpuFeatures.begin()));
      targets.push_back(*host);
    }
  }
  return targets;
}

class TileKernel {
public:
  /// A kernel from tile IR as text.
  TileKernel(const std::string &text, const CpuTarget &target) {
    mlir::DialectRegistry registry;
    registry.insert<tile::TileDialect, mlir::arith::ArithDialect,
                    mlir::math::MathDialect, mlir::scf::SCFDialect,
                    mlir::func::FuncDialect>();
    mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module)
      throw std::runtime_error("the test's tile IR does not parse");
    compile(*module, target);
  }

  /// A kernel from tile IR, which is consumed.
  TileKernel(mlir::ModuleOp module, const CpuTarget &target) {
    compile(module, target);
  }

  /// Runs every program of a grid, in order. Scratch memory is poisoned.
  template <typename... Args>
  void run(std::vector<uint32_t> grid, Args... args) const {
    grid.resize(3, 1);
    std::vector<uint64_t> slots = {slot(args)...};
    void *scratch =
        std::aligned_alloc(64, (size_t(scratchBytes) + 127) / 64 * 64);
    std::memset(scratch, 0xff, size_t(scratchBytes));
    uint32_t pid[3];
    for (pid[2] = 0; pid[2] < grid[2]; ++pid[2])
      for (pid[1] = 0; pid[1] < grid[1]; ++pid[1])
        for (pid[0] = 0; pid[0] < grid[0]; ++pid[0])
          loaded->call(slots.data(), pid, grid.data(), scratch);
    std::free(scratch);
  }

  int64_t scratchBytes = 0;
  codegen::cpu::SharedObject object;

private:
  void compile(mlir::ModuleOp module, const CpuTarget &target) {
    codegen::cpu::lowerToCpu(module, codegen::cpu::cpuOptionsFor(target));
    scratchBytes =
        module
            ->getAttrOfType<mlir::IntegerAttr>(codegen::cpu::kScratchBytesAttr)
            .getInt();
    codegen::cpu::ObjectOptions options;
    options.target = target;
    options.keepLlvm = options.keepAsm = true;
    object = codegen::cpu::emitSharedObject(module, options);
    loaded = std::make_unique<LoadedKernel>(object.bytes);
  }

  template <typename T>
  static uint64_t slot(T value) {
    uint64_t bits = 0;
    if constexpr (std::is_pointer_v<T>)
      bits = reinterpret_cast<uint64_t>(value);
    else if constexpr (std::is_integral_v<T>)
      bits = uint64_t(int64_t(value));
    else
      std::memcpy(&bits, &value, sizeof value);
    return bits;
  }
  std::unique_ptr<LoadedKernel> loaded;
};

/// "tensor<AxBx...xT>" from pieces.
inline std::string tensorOf(std::vector<int64_t> shape,
                            const std::string &element) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + element + ">";
}

/// Replaces every "$KEY" by its value.
inline std::string
fill(std::string text,
     const std::vector<std::pair<std::string, std::string>> &values) {
  for (const auto &[key, value] : values)
    for (size_t at; (at = text.find("$" + key)) != std::string::npos;)
      text.replace(at, key.size() + 1, value);
  return text;
}

/// Numbers that look random, in [-1, 1).
class Numbers {
public:
  explicit Numbers(uint64_t seed = 1) : state(seed * 2654435769u + 12345) {}
  float next() {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return float(int32_t(state >> 32)) / 2147483648.0f;
  }
  std::vector<float> vector(size_t n) {
    std::vector<float> result(n);
    for (float &x : result)
      x = next();
    return result;
  }

private:
  uint64_t state;
};

inline float fromBf16(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}

inline uint16_t toBf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  if (value != value)
    return uint16_t(bits >> 16 | 0x40);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

} // namespace tessera
