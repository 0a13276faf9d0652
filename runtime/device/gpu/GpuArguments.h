// runtime/device/gpu/GpuArguments.h - encodes the arguments of a launch as
// parameters of a GPU kernel.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Kernel.h"

#include "language/Request.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tessera::runtime {

// The parameters of an entry in order: pointers take 8 bytes, integers and
// floats their own width, i1 one byte (PTX ISA, "Kernel Function Parameters").
class GpuArguments {
public:
  // Type of a parameter. Kept small because every launch reads all slots.
  enum class Kind : uint8_t { Pointer, Integer, Float32, Float64, OtherFloat };
  struct Slot {
    uint32_t argument = 0; // index into the launch's arguments
    uint32_t bytes = 0;
    Kind kind = Kind::Integer;
    DType element = DType::FP32; // of memory

    bool pointer() const { return kind == Kind::Pointer; }
  };
  // Little-endian bytes.
  using Value = std::array<uint8_t, 8>;

  // Throws Error for metadata that does not fit the kernel's parameters.
  GpuArguments(const language::ArtifactMeta &meta, const std::string &kernel,
               const std::vector<std::string> &parameters);

  const std::vector<Slot> &slots() const { return list; }
  const std::string &nameOf(const Slot &slot) const {
    return texts[size_t(&slot - list.data())].name;
  }
  // Writes one value per slot. Allocates memory only for an Error's text.
  // Throws Error for an argument of another kind, a pointer to another type, an
  // integer that the parameter cannot hold, and arguments that overlap although
  // the code requires disjoint memory (docs/runtime.md).
  void fill(std::span<const Arg> args, Value *values) const;
  std::vector<Value> values(std::span<const Arg> args) const {
    std::vector<Value> result(list.size());
    fill(args, result.data());
    return result;
  }
  // Throws Error for a grid larger than the code supports.
  void checkGrid(const Grid &grid) const {
    if (gridLimit && grid[0] > gridLimit) [[unlikely]]
      refuseGrid(grid);
  }

private:
  struct Text {
    std::string name, element; // "fp32", "i64"
  };
  [[noreturn]] void refuse(const Slot &slot, const Arg &arg) const;
  void checkDisjoint(std::span<const Arg> args) const;
  [[noreturn]] void refuseGrid(const Grid &grid) const;

  std::string kernel;
  uint32_t gridLimit;
  std::vector<Slot> list;
  std::vector<std::pair<uint32_t, uint32_t>> disjoint; // slots
  std::vector<Text> texts; // of the slots, for errors
};

} // namespace tessera::runtime
