// replay/Device.h - the devices on which recorded launches can run.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Request.h"
#include "replay/Buffer.h"
#include "replay/Case.h"
#include "runtime/Kernel.h"
#include "runtime/compile/CompileService.h"
#include "support/Error.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera::cases {

// A launch before its memory exists. Its pointers are stand-ins that only
// carry alignment.
struct PreparedLaunch {
  std::optional<Kernel> kernel; // nullopt if the device has its own code
  std::vector<Arg> args;        // of the kernel's parameters, in order
  Constexprs constexprs;
  LaunchOptions options;
  std::string f32Default; // TESSERA_F32_DEFAULT while it is compiled
  // For a GPU: the compiled code, and the number of null pointers after the
  // arguments (scratch memory in other compilers' kernels).
  std::shared_ptr<const runtime::CompiledKernel> code;
  uint32_t appended = 0;

  // Sets TESSERA_F32_DEFAULT.
  void setPrecision() const;
};

// The memory of a pointer argument.
struct ArgumentMemory {
  std::string name;
  void *address = nullptr; // of element [0, 0, ...]
  char *begin = nullptr;   // the lowest
  size_t bytes = 0;
  bool written = false; // the recorded launch wrote it
};

// Returns the memory of a pointer argument that `buffer` holds.
ArgumentMemory memoryOf(const Case &recorded, const CaseArgument &argument,
                        const GuardedBuffer &buffer);
// Sets a pointer to the memory of an argument.
void pointAt(Pointer &pointer, const ArgumentMemory &memory);
// Returns the launch's arguments with the addresses of its memory.
std::vector<Arg> boundArguments(const PreparedLaunch &launch,
                                const std::vector<ArgumentMemory> &memory);

// Thrown if a check of the device detects an error in the launch.
class TESSERA_EXCEPTION LaunchFault : public Error {
public:
  using Error::Error;
};

// Runs recorded launches on one kind of machine. A device is named by a text
// such as "cpu" or "sim:sm_80". deviceTable() lists the kinds; a new kind is a
// new row.
class Device {
public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;
  // Returns why this launch cannot run here, or nullopt if it can.
  virtual std::optional<std::string> unsupported(const Case &) {
    return std::nullopt;
  }
  // True if launches are prepared from the case's kernel text.
  virtual bool usesKernelText() const { return true; }
  // True if a process may run several launches. Otherwise each has a separate
  // process, because a faulty launch could change later results.
  virtual bool reusable() const { return false; }
  // Compiles all launches in parallel. compileOne() reports failures.
  virtual void compile(const std::vector<const PreparedLaunch *> &) {}
  // Compiles a launch unless compile() has. Throws its errors.
  virtual void compileOne(PreparedLaunch &, const Grid &) {}
  // Runs the launch on host memory and waits. `serial`: runs the programs one
  // after another in the order of the grid, x fastest. Throws Error, and
  // LaunchFault for an error of the kernel.
  virtual void run(const LoadedCase &loaded, const PreparedLaunch &launch,
                   const std::vector<ArgumentMemory> &memory, bool serial) = 0;
};

struct DeviceOptions {
  // PTX that replaces the kernel's: a file, or its name in the folder of each
  // case.
  std::filesystem::path ptx;
};

struct DeviceKind {
  const char *prefix; // the name, or its part before the colon
  const char *help;
  std::unique_ptr<Device> (*open)(const std::string &name,
                                  const DeviceOptions &options);
};
const std::vector<DeviceKind> &deviceTable();

// Opens a device by its name. Throws Error with the nearest name for an unknown
// device.
std::unique_ptr<Device> openDevice(const std::string &name,
                                   const DeviceOptions &options = {});

// Opens devices that are implemented in a separate file.
std::unique_ptr<Device> openSimulator(const std::string &name,
                                      const DeviceOptions &options);

} // namespace tessera::cases
