// replay/Device.cpp - what recorded launches can be run on.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "replay/Device.h"

#include "language/Request.h"
#include "runtime/compile/CompileService.h"
#include "runtime/device/sim/SimKernel.h"
#include "support/Error.h"
#include "support/Names.h"
#include "support/Options.h"

#include <cstdlib>

namespace tessera::cases {

namespace {

// Runs what our compiler makes of the case's kernel.
class CompiledDevice : public Device {
public:
  explicit CompiledDevice(std::string name) : text(std::move(name)) {}
  std::string name() const override { return text; }
  // NVIDIA's driver does not.
  bool survivesFork() const override { return !text.starts_with("cuda"); }

  std::optional<std::string> unsupported(const Case &) override {
    return std::nullopt;
  }

  void compile(const std::vector<const PreparedLaunch *> &launches) override {
    std::vector<language::CompileRequest> requests;
    for (const PreparedLaunch *launch : launches) {
      try {
        setPrecision(*launch);
        requests.push_back(launch->kernel->compileRequest(
            launch->args, launch->constexprs, optionsOf(*launch)));
      } catch (const std::exception &) {
        // Said again, case by case.
      }
    }
    try {
      runtime::CompileService::instance().getAll(requests);
    } catch (const std::exception &) {
    }
  }

  void compileOne(const PreparedLaunch &launch) override {
    setPrecision(launch);
    launch.kernel->prepare(launch.args, launch.constexprs, optionsOf(launch));
  }

  void run(const LoadedCase &loaded, const PreparedLaunch &launch,
           const std::vector<ArgumentMemory> &memory, bool serial) override {
    setPrecision(launch);
    const std::vector<Arg> args = boundArguments(launch, memory);
    // One thread draws the programs in order.
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
    options.device = findDevice(hostMemoryDevice(text));
    return options;
  }

  static void setPrecision(const PreparedLaunch &launch) {
    ::setenv(optionInfo(Option::F32Default).name, launch.f32Default.c_str(), 1);
  }

  std::string text;
};

// A kind that this build knows of and cannot run.
class MissingDevice : public Device {
public:
  MissingDevice(std::string name, std::string why)
      : text(std::move(name)), why(std::move(why)) {}
  std::string name() const override { return text; }
  std::optional<std::string> unsupported(const Case &) override { return why; }
  void compile(const std::vector<const PreparedLaunch *> &) override {}
  void compileOne(const PreparedLaunch &) override { throw Error(why); }
  void run(const LoadedCase &, const PreparedLaunch &,
           const std::vector<ArgumentMemory> &, bool) override {
    throw Error(why);
  }

private:
  std::string text, why;
};

} // namespace

std::vector<Arg> boundArguments(const PreparedLaunch &launch,
                                const std::vector<ArgumentMemory> &memory) {
  std::vector<Arg> args = launch.args;
  for (size_t i = 0; i < args.size(); ++i)
    for (const ArgumentMemory &one : memory)
      if (auto *pointer = std::get_if<Pointer>(&args[i]);
          pointer && one.name == launch.kernel->parameters()[i]) {
        pointer->address = one.address;
        pointer->bytesBefore =
            size_t(static_cast<char *>(one.address) - one.begin);
        pointer->bytes = one.bytes - pointer->bytesBefore;
      }
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
         deviceTarget(name); // throws for an unknown one
         return std::make_unique<CompiledDevice>(name);
       }},
      {"cuda", "an NVIDIA GPU",
       [](const std::string &name,
          const DeviceOptions &options) -> std::unique_ptr<Device> {
         if (!options.ptx.empty())
           throw Error("a GPU runs the kernel of the case, not --ptx",
                       "run PTX with --device sim:sm_80");
         try {
           deviceTarget(name);
         } catch (const Error &error) {
           return std::make_unique<MissingDevice>(name, error.message +
                                                            "; use --device "
                                                            "sim:sm_80 or cpu");
         }
         return std::make_unique<CompiledDevice>(name);
       }},
  };
  return table;
}

std::unique_ptr<Device> openDevice(const std::string &name,
                                   const DeviceOptions &options) {
  const std::string prefix = name.substr(0, name.find(':'));
  std::vector<std::string> known;
  for (const DeviceKind &kind : deviceTable()) {
    if (prefix == kind.prefix)
      return kind.open(name, options);
    known.push_back(kind.prefix);
  }
  throw Error("there is no device `" + name + "`",
              nearestNameHint(prefix, known, "devices"));
}

} // namespace tessera::cases
