// runtime/cases/Device.h - what recorded launches can be run on.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Kernel.h"
#include "runtime/cases/Case.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera::cases {

// A launch whose pointers stand for aligned memory that is not there yet.
struct PreparedLaunch {
  Kernel kernel;
  std::vector<Arg> args;
  Constexprs constexprs;
  LaunchOptions options;
  std::string f32Default; // TESSERA_F32_DEFAULT while it is compiled
};

// One kind of machine. A device is named by a text such as "cpu" or
// "sim:sm_80"; deviceTable() lists the kinds, and adding one is adding a row.
class Device {
public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;
  // Why this launch cannot be run here; none when it can.
  virtual std::optional<std::string> unsupported(const Case &recorded) = 0;
  // Compiles all of them, in parallel. What fails is said by run().
  virtual void compile(const std::vector<const PreparedLaunch *> &launches) = 0;
  // Compiles what compile() did not, throwing what is wrong.
  virtual void compileOne(const PreparedLaunch &launch) = 0;
  // Runs the launch on host memory and waits. `serial`: the programs one after
  // another in the order of the grid, x fastest. Throws Error.
  virtual void run(const PreparedLaunch &launch, const Grid &grid,
                   const std::vector<Arg> &args, bool serial) = 0;
};

struct DeviceKind {
  const char *prefix; // the name, or what stands before its colon
  const char *help;
  std::unique_ptr<Device> (*open)(const std::string &name);
};
const std::vector<DeviceKind> &deviceTable();

// Throws Error with the nearest name for one that no kind claims.
std::unique_ptr<Device> openDevice(const std::string &name);

} // namespace tessera::cases
