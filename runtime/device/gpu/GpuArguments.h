// runtime/device/gpu/GpuArguments.h - arguments of a launch as parameters of a
// GPU kernel. Copyright the tessera authors. SPDX-License-Identifier:
// Apache-2.0
#pragma once

#include "runtime/Kernel.h"

#include "compiler/syntax/Request.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::runtime {

// The parameters of an entry in order: pointers take 8 bytes, integers and
// floats their own width, i1 one byte (PTX ISA, "Kernel Function Parameters").
class GpuArguments {
public:
  struct Slot {
    std::string name;
    size_t argument = 0; // index into the launch's arguments
    bool pointer = false;
    std::string element; // "fp32", "i64"
    uint32_t bytes = 0;
  };
  // Little end first.
  using Value = std::array<uint8_t, 8>;

  // Throws Error for metadata that does not fit the kernel's parameters.
  GpuArguments(const syntax::ArtifactMeta &meta, const std::string &kernel,
               const std::vector<std::string> &parameters);

  const std::vector<Slot> &slots() const { return list; }
  // One value per slot. Throws Error for an argument of another kind, a pointer
  // to another type, and an integer that the parameter cannot hold.
  std::vector<Value> values(const std::vector<Arg> &args) const;
  // Throws Error for a grid that the code was not made for.
  void checkGrid(const Grid &grid) const;

private:
  std::string kernel;
  uint32_t gridLimit;
  std::vector<Slot> list;
};

} // namespace tessera::runtime
