// runtime/cases/Packed.h - recorded launches with their GPU code beside them:
// docs/gpu-check.md. Copyright the tessera authors. SPDX-License-Identifier:
// Apache-2.0
#pragma once

#include "runtime/cases/Replay.h"
#include "runtime/compile/CompileService.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace tessera::cases {

// Writes the code for a target into a case's folder: TARGET.ptx, TARGET.cubin
// unless it is empty, and its entry of gpu.json. Throws Error.
void packCode(const std::filesystem::path &folder, const std::string &target,
              const runtime::CompiledKernel &compiled);

// The targets of a packed case, in order; none for a case without gpu.json.
// Throws Error for a gpu.json that is wrong.
std::vector<std::string> packedTargets(const std::filesystem::path &folder);
runtime::CompiledKernel readPacked(const std::filesystem::path &folder,
                                   const std::string &target);

// Runs packed cases on the machine's NVIDIA GPU.
class PackedDevice : public Device {
public:
  // `repeats` timed launches after that whose results count. Throws Error
  // where there is no GPU.
  explicit PackedDevice(uint32_t repeats);

  std::string name() const override { return "cuda"; }
  bool survivesFork() const override { return false; }
  std::optional<std::string> unsupported(const Case &) override {
    return std::nullopt;
  }
  void compile(const std::vector<const PreparedLaunch *> &) override {}
  void compileOne(const PreparedLaunch &) override {}
  void run(const LoadedCase &loaded, const PreparedLaunch &launch,
           const std::vector<ArgumentMemory> &memory, bool serial) override;

  // Of the last launch: milliseconds, ascending, and the target of its code.
  const std::vector<double> &times() const { return milliseconds; }
  const std::string &target() const { return used; }

private:
  uint32_t repeats;
  std::vector<double> milliseconds;
  std::string used;
};

} // namespace tessera::cases
