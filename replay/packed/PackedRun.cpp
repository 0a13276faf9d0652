// replay/packed/PackedRun.cpp - packed cases on the machine's NVIDIA GPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "replay/packed/PackedRun.h"

#include "runtime/device/cuda/Driver.h"
#include "support/GpuTarget.h"

#include <algorithm>

namespace tessera::cases {

namespace fs = std::filesystem;
using runtime::CudaLaunch;
using runtime::cuda::Driver;

namespace {

constexpr uint32_t warmUps = 5;

Arg argumentFor(const LoadedCase &loaded, const std::string &name,
                const std::vector<ArgumentMemory> &memory) {
  const CaseArgument *argument = loaded.recorded.find(name);
  if (!argument)
    return nullptr; // None when it was recorded
  if (argument->kind != ArgumentKind::Pointer) {
    if (!argument->value)
      throw UnsupportedCase("argument `" + name + "` is " + argument->text +
                            ", which only u64 holds");
    return *argument->value;
  }
  for (const ArgumentMemory &one : memory)
    if (one.name == name) {
      Pointer pointer{one.address, *argument->type};
      pointer.bytesBefore =
          size_t(static_cast<char *>(one.address) - one.begin);
      pointer.bytes = one.bytes - pointer.bytesBefore;
      return pointer;
    }
  return nullptr;
}

// Runs and fetches; then again, from the same memory.
void checkedRun(CudaLaunch &launch, uint32_t repeated, bool deterministic) {
  launch.reset();
  launch.run();
  launch.fetch();
  std::string damage = launch.damage();
  std::string difference;
  for (uint32_t i = 0;
       i < repeated && deterministic && damage.empty() && difference.empty();
       ++i) {
    launch.reset();
    launch.run();
    difference = launch.difference();
    damage = launch.damage();
  }
  if (!damage.empty())
    throw LaunchFault(damage, "an index of the kernel is out of bounds: "
                              "tessera replay --device sim:sm_80 says where");
  if (!difference.empty())
    throw LaunchFault(
        "launched again on the same memory it wrote other bytes: " + difference,
        "threads race: tessera replay --device sim:sm_80 looks for that");
}

} // namespace

std::unique_ptr<CudaLaunch>
bindPacked(const LoadedCase &loaded, const runtime::CompiledKernel &compiled,
           uint32_t appended, const Grid &grid,
           const std::vector<ArgumentMemory> &memory) {
  std::vector<std::string> names;
  std::vector<Arg> args;
  for (const language::ArtifactParameter &parameter : compiled.meta.params) {
    names.push_back(parameter.name);
    args.push_back(argumentFor(loaded, parameter.name, memory));
  }
  return runtime::loadCudaKernel(compiled, loaded.recorded.kernel, names,
                                 appended)
      ->bind(grid, args);
}

std::string packedTargetHere(const fs::path &folder) {
  const std::string best = Driver::instance().target();
  std::string used;
  for (const std::string &target : packedTargets(folder))
    if (GpuTarget::parse(target).computeCapability <=
        GpuTarget::parse(best).computeCapability)
      used = target;
  if (used.empty())
    throw Error(folder.string() + " has no code for " + best +
                    " or an older GPU",
                "pack it: tessera pack-cases --target " + best);
  return used;
}

PackedDevice::PackedDevice(const PackedOptions &options) : options(options) {
  Driver::instance();
}

void PackedDevice::run(const LoadedCase &loaded, const PreparedLaunch &,
                       const std::vector<ArgumentMemory> &memory, bool) {
  measured = {};
  const Grid &grid = loaded.recorded.grid;
  if (!grid[0] || !grid[1] || !grid[2])
    return;
  const std::string target = packedTargetHere(loaded.folder);
  std::unique_ptr<CudaLaunch> own, peer;
  if (mode != PackedMode::Peer)
    own = bindPacked(loaded, other ? *other : readPacked(loaded.folder, target),
                     0, grid, memory);
  if (mode == PackedMode::Peer || (mode == PackedMode::Time && withPeer)) {
    const std::optional<PeerCode> code = readPeer(loaded.folder, target);
    if (!code)
      throw Error(loaded.folder.string() + " has no other compiler's code",
                  "add it: tools/gpucheck/add_triton.py");
    peer = bindPacked(loaded, code->compiled, code->appended, grid, memory);
  }
  if (mode == PackedMode::Check)
    checkedRun(*own, options.repeated,
               !loaded.recorded.work ||
                   !loaded.recorded.work->nondeterministic);
  else if (mode == PackedMode::Peer)
    checkedRun(*peer, 0, true);
  else
    time(*own, peer.get());
}

void PackedDevice::time(CudaLaunch &own, CudaLaunch *peer) {
  std::optional<runtime::cuda::CacheFlush> flush;
  if (options.clearCache)
    flush.emplace(Driver::instance());
  own.reset();
  if (peer)
    peer->reset();
  // In turns, so that a change of the clock meets both.
  for (uint32_t i = 0; i < warmUps + options.timed; ++i) {
    const auto once = [&](CudaLaunch &launch, std::vector<double> &times) {
      const double passed = launch.time(flush ? &*flush : nullptr);
      if (i >= warmUps)
        times.push_back(passed);
    };
    once(own, measured.own);
    if (peer)
      once(*peer, measured.peer);
  }
  std::sort(measured.own.begin(), measured.own.end());
  std::sort(measured.peer.begin(), measured.peer.end());
}

} // namespace tessera::cases
