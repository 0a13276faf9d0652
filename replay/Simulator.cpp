// replay/Simulator.cpp - recorded launches of PTX on the simulator.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "replay/Device.h"
#include "replay/SimLaunch.h"

namespace tessera::cases {

namespace fs = std::filesystem;

namespace {

class Simulator : public Device {
public:
  Simulator(std::string name, fs::path ptx)
      : text(std::move(name)), ptx(std::move(ptx)) {}

  std::string name() const override { return text; }
  bool usesKernelText() const override { return false; }

  std::optional<std::string> unsupported(const Case &recorded) override {
    for (const CaseArgument &argument : recorded.arguments)
      if (argument.kind == ArgumentKind::Pointer ? !argument.type
                                                 : !argument.value)
        return "argument `" + argument.name + "` is " + argument.dtype + " " +
               argument.text;
    return std::nullopt;
  }

  void run(const LoadedCase &loaded, const PreparedLaunch &,
           const std::vector<ArgumentMemory> &memory, bool serial) override {
    const SimLaunch launch = simLaunch(loaded, memory, ptx);
    sim::Options options;
    options.serial = serial;
    const sim::Report report = launch.run(options);
    if (!report.findings.empty())
      throw LaunchFault(report.findings[0].text());
  }

private:
  std::string text;
  fs::path ptx;
};

} // namespace

std::unique_ptr<Device> openSimulator(const std::string &name,
                                      const DeviceOptions &options) {
  return std::make_unique<Simulator>(name, options.ptx);
}

} // namespace tessera::cases
