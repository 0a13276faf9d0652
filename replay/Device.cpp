// replay/Device.cpp - the devices on which recorded launches can run.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "replay/Device.h"

#include "replay/gpu/GpuDevice.h"
#include "runtime/compile/CompileTogether.h"
#include "runtime/device/sim/SimKernel.h"
#include "support/Error.h"
#include "support/Lists.h"
#include "support/Names.h"
#include "support/Options.h"

#include <cstdlib>

namespace tessera::cases {

namespace {

// Runs the case's kernel, compiled by tessera.
class CompiledDevice : public Device {
public:
  explicit CompiledDevice(std::string name) : text(std::move(name)) {}
  std::string name() const override { return text; }
  void compile(const std::vector<const PreparedLaunch *> &launches) override {
    runtime::compileTogether(launches, [&](const PreparedLaunch *launch) {
      launch->setPrecision();
      return launch->kernel->compileRequest(launch->args, launch->constexprs,
                                            optionsOf(*launch));
    });
  }

  void compileOne(PreparedLaunch &launch, const Grid &) override {
    launch.setPrecision();
    launch.kernel->prepare(launch.args, launch.constexprs, optionsOf(launch));
  }

  void run(const LoadedCase &loaded, const PreparedLaunch &launch,
           const std::vector<ArgumentMemory> &memory, bool serial) override {
    launch.setPrecision();
    const std::vector<Arg> args = boundArguments(launch, memory);
    // A single thread takes the programs in order.
    std::optional<ScopedParallelFor> inOrder;
    if (serial)
      inOrder.emplace([](int64_t count, const auto &body) { body(0, count); },
                      [] { return 1; });
    try {
      launch.kernel->launch(loaded.recorded.grid, args, launch.constexprs,
                            optionsOf(launch));
    } catch (const runtime::KernelFault &fault) {
      throw LaunchFault(fault.message, fault.hint);
    }
  }

private:
  LaunchOptions optionsOf(const PreparedLaunch &launch) const {
    LaunchOptions options = launch.options;
    options.device = findDevice(text);
    return options;
  }

  std::string text;
};

// A kind of device that this build knows and cannot run.
class MissingDevice : public Device {
public:
  MissingDevice(std::string name, std::string why)
      : text(std::move(name)), why(std::move(why)) {}
  std::string name() const override { return text; }
  std::optional<std::string> unsupported(const Case &) override { return why; }
  void run(const LoadedCase &, const PreparedLaunch &,
           const std::vector<ArgumentMemory> &, bool) override {
    throw Error(why);
  }

private:
  std::string text, why;
};

} // namespace

void PreparedLaunch::setPrecision() const {
  ::setenv(optionInfo(Option::F32Default).name, f32Default.c_str(), 1);
}

ArgumentMemory memoryOf(const Case &recorded, const CaseArgument &argument,
                        const GuardedBuffer &buffer) {
  return {argument.name,
          buffer.data() +
              argument.layout.origin() * int64_t(elementBytes(*argument.type)),
          buffer.data(), buffer.size(), recorded.isWritten(argument.name)};
}

void pointAt(Pointer &pointer, const ArgumentMemory &memory) {
  pointer.address = memory.address;
  pointer.bytesBefore =
      size_t(static_cast<char *>(memory.address) - memory.begin);
  pointer.bytes = memory.bytes - pointer.bytesBefore;
}

std::vector<Arg> boundArguments(const PreparedLaunch &launch,
                                const std::vector<ArgumentMemory> &memory) {
  std::vector<Arg> args = launch.args;
  for (size_t i = 0; i < args.size(); ++i)
    for (const ArgumentMemory &one : memory)
      if (auto *pointer = std::get_if<Pointer>(&args[i]);
          pointer && one.name == launch.kernel->parameters()[i])
        pointAt(*pointer, one);
  return args;
}

const std::vector<DeviceKind> &deviceTable() {
  static const std::vector<DeviceKind> table = {
      {"cpu", "this machine's processor",
       [](const std::string &,
          const DeviceOptions &options) -> std::unique_ptr<Device> {
         if (!options.ptx.empty())
           throw Error("the cpu runs no PTX", "add --device sim:sm_80");
         return std::make_unique<CompiledDevice>("cpu");
       }},
      {"sim", "a simulated GPU: sim:sm_80, sim:sm_90",
       [](const std::string &name,
          const DeviceOptions &options) -> std::unique_ptr<Device> {
         if (!options.ptx.empty())
           return openSimulator(name, options);
         deviceTarget(name); // throws for an unknown device
         return std::make_unique<CompiledDevice>(name);
       }},
      {"cuda", "an NVIDIA GPU",
       [](const std::string &name,
          const DeviceOptions &options) -> std::unique_ptr<Device> {
         if (!options.ptx.empty())
           throw Error("a GPU runs the kernel of the case, not --ptx",
                       "run PTX with --device sim:sm_80");
         if (name != "cuda")
           throw Error("no device `" + name + "` for cases",
                       "write --device cuda, and choose the GPU by "
                       "CUDA_VISIBLE_DEVICES");
         try {
           return std::make_unique<GpuDevice>(gpuFacts()["target"]);
         } catch (const Error &error) {
           return std::make_unique<MissingDevice>(name, error.message +
                                                            "; use --device "
                                                            "sim:sm_80 or cpu");
         }
       }},
  };
  return table;
}

std::unique_ptr<Device> openDevice(const std::string &name,
                                   const DeviceOptions &options) {
  const std::string prefix = name.substr(0, name.find(':'));
  for (const DeviceKind &kind : deviceTable())
    if (prefix == kind.prefix)
      return kind.open(name, options);
  throw Error("no device `" + name + "`",
              nearestNameHint(prefix,
                              namesOf(deviceTable(), &DeviceKind::prefix),
                              "devices"));
}

} // namespace tessera::cases
