// replay/Device.h - what recorded launches can be run on.
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

// A launch whose pointers stand for aligned memory that is not there yet.
struct PreparedLaunch {
  std::optional<Kernel> kernel; // none where the device brings its own code
  std::vector<Arg> args;        // of the kernel's parameters, in order
  Constexprs constexprs;
  LaunchOptions options;
  std::string f32Default; // TESSERA_F32_DEFAULT while it is compiled
  // For a GPU: the compiled code, and how many null pointers it takes after the
  // arguments (other compilers' scratch memory).
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
// Points at the memory of an argument.
void pointAt(Pointer &pointer, const ArgumentMemory &memory);
// The launch's arguments with the memory of its pointers.
std::vector<Arg> boundArguments(const PreparedLaunch &launch,
                                const std::vector<ArgumentMemory> &memory);

// A check of the device found the launch to be wrong.
class TESSERA_EXCEPTION LaunchFault : public Error {
public:
  using Error::Error;
};

// One kind of machine. A device is named by a text such as "cpu" or
// "sim:sm_80"; deviceTable() lists the kinds, and adding one is adding a row.
class Device {
public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;
  // Why this launch cannot be run here; none when it can.
  virtual std::optional<std::string> unsupported(const Case &) {
    return std::nullopt;
  }
  // Whether launches are prepared from the case's kernel text.
  virtual bool usesKernelText() const { return true; }
  // Whether a process that ran a launch may run another one. Otherwise a faulty
  // launch could change the results of those after it.
  virtual bool reusable() const { return false; }
  // Compiles all of them, in parallel. What fails is said by compileOne().
  virtual void compile(const std::vector<const PreparedLaunch *> &) {}
  // Compiles what compile() did not, throwing what is wrong.
  virtual void compileOne(PreparedLaunch &, const Grid &) {}
  // Runs the launch on host memory and waits. `serial`: the programs one after
  // another in the order of the grid, x fastest. Throws Error, and LaunchFault
  // for what the kernel does wrong.
  virtual void run(const LoadedCase &loaded, const PreparedLaunch &launch,
                   const std::vector<ArgumentMemory> &memory, bool serial) = 0;
};

struct DeviceOptions {
  // PTX to run instead of the kernel's own: a file, or its name in the folder
  // of each case.
  std::filesystem::path ptx;
};

struct DeviceKind {
  const char *prefix; // the name, or what stands before its colon
  const char *help;
  std::unique_ptr<Device> (*open)(const std::string &name,
                                  const DeviceOptions &options);
};
const std::vector<DeviceKind> &deviceTable();

// Throws Error with the nearest name for one that no kind claims.
std::unique_ptr<Device> openDevice(const std::string &name,
                                   const DeviceOptions &options = {});

// Kinds with a file of their own.
std::unique_ptr<Device> openSimulator(const std::string &name,
                                      const DeviceOptions &options);

} // namespace tessera::cases
