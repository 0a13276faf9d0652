// runtime/device/gpu/GpuArguments.cpp - arguments of a launch as parameters of
// a GPU kernel. Copyright the tessera authors. SPDX-License-Identifier:
// Apache-2.0
#include "runtime/device/gpu/GpuArguments.h"

#include "compiler/syntax/Signature.h"
#include "runtime/launch/LoadedKernel.h"

#include <bit>
#include <cstring>

namespace tessera::runtime {

namespace {

using Slot = GpuArguments::Slot;

template <typename T>
GpuArguments::Value bytesOf(T value) {
  GpuArguments::Value result{};
  std::memcpy(result.data(), &value, sizeof(value));
  return result;
}

const char *kindOf(const Arg &arg) {
  constexpr const char *names[] = {"None", "a pointer", "an integer", "a float",
                                   "a boolean"};
  return names[arg.index()];
}

bool holds(const Slot &slot, int64_t value) {
  const unsigned bits = 8 * slot.bytes;
  if (bits == 64)
    return true;
  // Either reading of the bits: a launch may pass 0xffffffff for an i32.
  return value >= -(int64_t(1) << (bits - 1)) && value < (int64_t(1) << bits);
}

} // namespace

void GpuArguments::checkGrid(const Grid &grid) const {
  if (gridLimit && grid[0] > gridLimit)
    throw Error("this code of `" + kernel + "` is for at most " +
                    std::to_string(gridLimit) + " programs along x, not " +
                    std::to_string(grid[0]),
                "compile it for a wide grid: LaunchOptions::wideGrid, "
                "tessera compile --wide-grid");
}

GpuArguments::GpuArguments(const syntax::ArtifactMeta &meta,
                           const std::string &kernel,
                           const std::vector<std::string> &parameters)
    : kernel(kernel), gridLimit(meta.gridLimit) {
  for (const syntax::ArtifactParameter &parameter : meta.params) {
    const auto type = syntax::ArgClass::parse(parameter.type);
    if (!type)
      throw Error("the artifact of `" + kernel + "` has a parameter `" +
                      parameter.name + "` of type `" + parameter.type + "`",
                  "clear the cache: tessera cache clear");
    Slot slot;
    slot.name = parameter.name;
    slot.argument = argumentOf(parameter.name, kernel, parameters);
    slot.pointer = type->pointer;
    slot.element = type->element;
    slot.bytes =
        type->pointer ? 8 : (syntax::elementBits(type->element) + 7) / 8;
    list.push_back(std::move(slot));
  }
}

std::vector<GpuArguments::Value>
GpuArguments::values(const std::vector<Arg> &args) const {
  std::vector<Value> result;
  result.reserve(list.size());
  for (const Slot &slot : list) {
    const Arg &arg = args[slot.argument];
    // Only for an error: a launch should build no text.
    const auto where = [&] {
      return "argument `" + slot.name + "` of `" + kernel + "` is " +
             (slot.pointer ? "*" : "") + slot.element;
    };
    const bool real = !slot.pointer && syntax::isFloatElement(slot.element);
    if (const auto *pointer = std::get_if<Pointer>(&arg);
        pointer && slot.pointer) {
      if (dtypeName(pointer->type) != slot.element)
        throw Error(where() + " and was given memory of " +
                        dtypeName(pointer->type),
                    "pass memory of " + slot.element);
      result.push_back(bytesOf(reinterpret_cast<uint64_t>(pointer->address)));
    } else if (std::holds_alternative<std::nullptr_t>(arg) && slot.pointer) {
      result.push_back(bytesOf(uint64_t(0)));
    } else if (const auto *number = std::get_if<double>(&arg); number && real) {
      if (slot.element == "fp64")
        result.push_back(bytesOf(*number));
      else if (slot.element == "fp32")
        result.push_back(bytesOf(float(*number)));
      else
        throw Error(where() + ", which launches do not pass",
                    "take it as float, and convert it in the kernel");
    } else if (const auto *integer = std::get_if<int64_t>(&arg);
               integer && !real && !slot.pointer) {
      if (!holds(slot, *integer))
        throw Error(where() + " and was given " + std::to_string(*integer),
                    "give the parameter a wider type");
      result.push_back(bytesOf(*integer));
    } else if (const auto *flag = std::get_if<bool>(&arg);
               flag && !real && !slot.pointer) {
      result.push_back(bytesOf(int64_t(*flag)));
    } else {
      throw Error(where() + " and was given " + kindOf(arg),
                  slot.pointer ? "pass memory"
                  : real       ? "pass a number with a decimal point"
                               : "pass an integer");
    }
  }
  return result;
}

} // namespace tessera::runtime
