// replay/gpu/GpuDevice.cpp - runs recorded launches on this machine's NVIDIA
// GPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "replay/gpu/GpuDevice.h"

#include "replay/Replay.h"
#include "runtime/compile/CompileTogether.h"
#include "runtime/device/cuda/Driver.h"
#include "support/GpuTarget.h"

namespace tessera::cases {

using runtime::CudaLaunch;

language::CompileRequest gpuRequest(const PreparedLaunch &launch,
                                    const std::string &target,
                                    const Grid &grid) {
  LaunchOptions options = launch.options;
  options.device = findDevice("sim:" + target);
  options.wideGrid = grid[0] > narrowGrid;
  language::CompileRequest request =
      launch.kernel->compileRequest(launch.args, launch.constexprs, options);
  request.assembler.clear(); // only simulated GPUs do without
  return request;
}

// Returns an argument of packed code, which comes without a kernel file, by the
// names in its metadata.
static Arg argumentFor(const LoadedCase &loaded, const std::string &name,
                       const std::vector<ArgumentMemory> &memory) {
  const CaseArgument *argument = loaded.recorded.find(name);
  if (!argument)
    return nullptr; // recorded as None
  if (argument->kind != ArgumentKind::Pointer) {
    if (!argument->value)
      throw UnsupportedCase("argument `" + name + "` is " + argument->text +
                            ", which only u64 holds");
    return *argument->value;
  }
  for (const ArgumentMemory &one : memory)
    if (one.name == name) {
      Pointer pointer{one.address, *argument->type};
      pointAt(pointer, one);
      return pointer;
    }
  return nullptr;
}

std::unique_ptr<CudaLaunch>
bindOnGpu(const LoadedCase &loaded, const PreparedLaunch &launch,
          const Grid &grid, const std::vector<ArgumentMemory> &memory) {
  std::vector<std::string> names;
  std::vector<Arg> args;
  if (launch.kernel) {
    names = launch.kernel->parameters();
    args = boundArguments(launch, memory);
  } else {
    for (const auto &parameter : launch.code->meta.params) {
      names.push_back(parameter.name);
      args.push_back(argumentFor(loaded, parameter.name, memory));
    }
  }
  return runtime::loadCudaKernel(*launch.code, loaded.recorded.kernel, names,
                                 launch.appended)
      ->bind(grid, args);
}

bool GpuDevice::reusable() const {
  return runtime::cuda::Driver::instance().healthy();
}

void GpuDevice::compile(const std::vector<const PreparedLaunch *> &launches) {
  // The code of a wide grid differs; such launches are rare, and compileOne()
  // compiles them.
  runtime::compileTogether(launches, [&](const PreparedLaunch *launch) {
    launch->setPrecision();
    return gpuRequest(*launch, target, {1, 1, 1});
  });
}

void GpuDevice::compileOne(PreparedLaunch &launch, const Grid &grid) {
  launch.setPrecision();
  launch.code =
      runtime::CompileService::instance().get(gpuRequest(launch, target, grid));
}

void GpuDevice::run(const LoadedCase &loaded, const PreparedLaunch &prepared,
                    const std::vector<ArgumentMemory> &memory, bool) {
  const Case &recorded = loaded.recorded;
  const Grid &grid = recorded.grid;
  if (!grid[0] || !grid[1] || !grid[2])
    return;
  const auto launch = bindOnGpu(loaded, prepared, grid, memory);
  launch->reset();
  launch->run();
  launch->fetch();
  std::string damage = launch->damage(), difference;
  const bool deterministic = !recorded.work || !recorded.work->nondeterministic;
  for (uint32_t i = 0;
       i < repeated && deterministic && damage.empty() && difference.empty();
       ++i) {
    launch->reset();
    launch->run();
    difference = launch->difference();
    damage = launch->damage();
  }
  if (!damage.empty())
    throw LaunchFault(damage, "an index of the kernel is out of bounds: "
                              "tessera replay --device sim:sm_80 says where");
  if (!difference.empty())
    throw LaunchFault(
        "launched again on the same memory it wrote other bytes: " + difference,
        "threads race: tessera replay --device sim:sm_80 looks for that");
}

} // namespace tessera::cases
