// runtime/device/gpu/GpuArguments.cpp - arguments of a launch as parameters of
// a GPU kernel.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/gpu/GpuArguments.h"

#include "language/Signature.h"
#include "runtime/launch/LoadedKernel.h"
#include "support/Error.h"

#include <algorithm>
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
  constexpr const char *names[] = {"None",       "a pointer",
                                   "an integer", "a float",
                                   "a boolean",  "an integer beyond 2^63 - 1"};
  return names[arg.index()];
}

bool holds(const Slot &slot, int64_t value) {
  const unsigned bits = 8 * slot.bytes;
  if (bits == 64)
    return true;
  // Accepts the signed and the unsigned interpretation: a launch may pass
  // 0xffffffff for an i32.
  return value >= -(int64_t(1) << (bits - 1)) && value < (int64_t(1) << bits);
}

GpuArguments::Kind kindOf(const language::ArgClass &type) {
  using Kind = GpuArguments::Kind;
  if (type.pointer)
    return Kind::Pointer;
  if (!language::isFloatElement(type.element))
    return Kind::Integer;
  return type.element == "fp32"   ? Kind::Float32
         : type.element == "fp64" ? Kind::Float64
                                  : Kind::OtherFloat;
}

// Returns true if the argument fits the slot, and stores its bits in `value`.
bool convert(const Slot &slot, const Arg &arg, GpuArguments::Value &value) {
  using Kind = GpuArguments::Kind;
  if (const auto *pointer = std::get_if<Pointer>(&arg)) {
    value = bytesOf(reinterpret_cast<uint64_t>(pointer->address));
    return slot.pointer() && pointer->type == slot.element;
  }
  if (const auto *integer = std::get_if<int64_t>(&arg)) {
    value = bytesOf(*integer);
    return slot.kind == Kind::Integer && holds(slot, *integer);
  }
  if (const auto *integer = std::get_if<uint64_t>(&arg)) {
    value = bytesOf(*integer);
    return slot.kind == Kind::Integer && slot.bytes == 8;
  }
  if (const auto *number = std::get_if<double>(&arg)) {
    value =
        slot.kind == Kind::Float64 ? bytesOf(*number) : bytesOf(float(*number));
    return slot.kind == Kind::Float32 || slot.kind == Kind::Float64;
  }
  if (const auto *flag = std::get_if<bool>(&arg)) {
    value = bytesOf(int64_t(*flag));
    return slot.kind == Kind::Integer;
  }
  value = bytesOf(uint64_t(0));
  return slot.pointer();
}

} // namespace

void GpuArguments::refuseGrid(const Grid &grid) const {
  throw Error("this code of `" + kernel + "` is for at most " +
                  std::to_string(gridLimit) + " programs along x, not " +
                  std::to_string(grid[0]),
              "compile it for a wide grid: LaunchOptions::wideGrid, "
              "tessera compile --wide-grid");
}

GpuArguments::GpuArguments(const language::ArtifactMeta &meta,
                           const std::string &kernel,
                           const std::vector<std::string> &parameters)
    : kernel(kernel), gridLimit(meta.gridLimit), disjoint(meta.disjoint) {
  for (const language::ArtifactParameter &parameter : meta.params) {
    const auto type = language::ArgClass::parse(parameter.type);
    const auto element = type ? dtypeFromText(type->element) : std::nullopt;
    if (!type || (type->pointer && !element))
      throw Error("the artifact of `" + kernel + "` has a parameter `" +
                      parameter.name + "` of type `" + parameter.type + "`",
                  "clear the cache: tessera cache clear");
    Slot slot;
    slot.argument = uint32_t(argumentOf(parameter.name, kernel, parameters));
    slot.kind = kindOf(*type);
    slot.element = element.value_or(DType::FP32);
    slot.bytes =
        type->pointer ? 8 : (language::elementBits(type->element) + 7) / 8;
    list.push_back(slot);
    texts.push_back({parameter.name, type->element});
  }
}

void GpuArguments::fill(std::span<const Arg> args, Value *values) const {
  for (const Slot &slot : list) {
    const Arg &arg = args[slot.argument];
    if (!convert(slot, arg, *values++)) [[unlikely]]
      refuse(slot, arg);
  }
  if (!disjoint.empty()) [[unlikely]]
    checkDisjoint(args);
}

void GpuArguments::checkDisjoint(std::span<const Arg> args) const {
  // First byte and end of the range; an unknown size counts as one byte.
  const auto extentOf = [&](const Slot &slot) {
    const auto *pointer = std::get_if<Pointer>(&args[slot.argument]);
    if (!pointer || !pointer->address)
      return std::pair<uintptr_t, uintptr_t>();
    const auto at = reinterpret_cast<uintptr_t>(pointer->address);
    const size_t bytes =
        pointer->bytes == Pointer::unknown ? 1 : pointer->bytes;
    return std::pair(at - pointer->bytesBefore, at + bytes);
  };
  for (const auto &[read, written] : disjoint) {
    const auto [begin, end] = extentOf(list[read]);
    const auto [first, last] = extentOf(list[written]);
    if (std::max(begin, first) >= std::min(end, last)) [[likely]]
      continue;
    throw Error("`" + kernel + "` copies `" + nameOf(list[read]) +
                    "` ahead of stores to `" + nameOf(list[written]) +
                    "`, and the two arguments share memory",
                "launch with num_stages=1, whose loops copy nothing ahead; or "
                "pass a copy of one of them; or put a tl.debug_barrier() "
                "between the load and the store");
  }
}

void GpuArguments::refuse(const Slot &slot, const Arg &arg) const {
  const std::string &element = texts[size_t(&slot - list.data())].element;
  const std::string where = "argument `" + nameOf(slot) + "` of `" + kernel +
                            "` is " + (slot.pointer() ? "*" : "") + element;
  const bool real = !slot.pointer() && slot.kind != Kind::Integer;
  if (const auto *pointer = std::get_if<Pointer>(&arg);
      pointer && slot.pointer())
    throw Error(where + " and was given memory of " + dtypeName(pointer->type),
                "pass memory of " + element);
  if (std::holds_alternative<double>(arg) && real)
    throw Error(where + ", which launches do not pass",
                "take it as float, and convert it in the kernel");
  if (const auto *integer = std::get_if<int64_t>(&arg);
      integer && slot.kind == Kind::Integer)
    throw Error(where + " and was given " + std::to_string(*integer),
                "give the parameter a wider type");
  throw Error(where + " and was given " + kindOf(arg),
              slot.pointer() ? "pass memory"
              : real         ? "pass a number with a decimal point"
                             : "pass an integer");
}

} // namespace tessera::runtime
