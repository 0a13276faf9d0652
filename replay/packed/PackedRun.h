// replay/packed/PackedRun.h - packed cases on the machine's NVIDIA GPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "replay/Replay.h"
#include "replay/packed/Packed.h"
#include "runtime/device/cuda/CudaKernel.h"

#include <memory>
#include <string>
#include <vector>

namespace tessera::cases {

struct PackedOptions {
  uint32_t timed = 20;    // launches of each compiler's code
  uint32_t repeated = 3;  // launches that must write the same bytes again
  bool clearCache = true; // before each timed launch
};

// Milliseconds, ascending; empty where nothing was timed.
struct PackedTimes {
  std::vector<double> own, peer;
};

// The newest packed target that the machine's GPU can take. Throws Error.
std::string packedTargetHere(const std::filesystem::path &folder);

// Loads the code and binds it to the memory of a launch's arguments. Throws
// Error.
std::unique_ptr<runtime::CudaLaunch>
bindPacked(const LoadedCase &loaded, const runtime::CompiledKernel &compiled,
           uint32_t appended, const Grid &grid,
           const std::vector<ArgumentMemory> &memory);

enum class PackedMode {
  Check, // on fresh memory between zones of known bytes; then again, which must
         // give the same bytes unless the case says otherwise
  Peer,  // the same with the peer's code, once
  Time,  // both in turns; nothing is checked
};

class PackedDevice : public Device {
public:
  // Throws NoGpu, and Error for a driver that is broken.
  explicit PackedDevice(const PackedOptions &options);

  std::string name() const override { return "cuda"; }
  bool survivesFork() const override { return false; }
  bool usesKernelText() const override { return false; }
  std::optional<std::string> unsupported(const Case &) override {
    return std::nullopt;
  }
  void compile(const std::vector<const PreparedLaunch *> &) override {}
  void compileOne(const PreparedLaunch &) override {}
  void run(const LoadedCase &loaded, const PreparedLaunch &launch,
           const std::vector<ArgumentMemory> &memory, bool serial) override;

  // `peer`: in Time, whether its code is timed, too.
  void use(PackedMode wanted, bool peer) {
    mode = wanted;
    withPeer = peer;
  }
  // In Check: other code of the kernel than the packed one, once and then as
  // often as is asked for; null: the packed one. It must live meanwhile.
  void useCode(const runtime::CompiledKernel *compiled) { other = compiled; }
  const PackedTimes &times() const { return measured; } // of the last Time

private:
  void time(runtime::CudaLaunch &own, runtime::CudaLaunch *peer);

  PackedOptions options;
  PackedTimes measured;
  PackedMode mode = PackedMode::Check;
  bool withPeer = false;
  const runtime::CompiledKernel *other = nullptr;
};

} // namespace tessera::cases
