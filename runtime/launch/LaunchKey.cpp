// runtime/launch/LaunchKey.cpp - the contents of a launch key (beginKey) and
// their encoding.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/LaunchKey.h"

#include "runtime/launch/KernelState.h"

#include <bit>
#include <cassert>
#include <cstring>

namespace tessera::runtime {

namespace {

// Bytes of the argument classes. A pointer adds its type and alignment.
enum ClassByte : uint8_t {
  noneClass = 1,
  oneClass = 2,
  integerClass = 4, // + 1: wider than 32 bits, + 2: divisible by 16
  floatClass = 8,
  boolClass = 9,
  unsignedClass = 16,  // + 2: divisible by 16
  pointerClass = 0x80, // + 0x40: aligned
};

uint8_t classOf(const Arg &arg, bool unspecialized) {
  if (const Pointer *pointer = std::get_if<Pointer>(&arg)) {
    const bool aligned =
        reinterpret_cast<uintptr_t>(pointer->address) % 16 == 0;
    return uint8_t(pointerClass | (aligned ? 0x40 : 0) |
                   uint8_t(pointer->type));
  }
  if (const int64_t *number = std::get_if<int64_t>(&arg)) {
    if (*number == 1 && !unspecialized)
      return oneClass;
    const bool wide = *number < INT32_MIN || *number > INT32_MAX;
    const bool even = *number % 16 == 0 && !unspecialized;
    return uint8_t(integerClass | (wide ? 1 : 0) | (even ? 2 : 0));
  }
  if (const uint64_t *number = std::get_if<uint64_t>(&arg))
    return uint8_t(unsignedClass |
                   (*number % 16 == 0 && !unspecialized ? 2 : 0));
  return std::holds_alternative<double>(arg) ? floatClass
         : std::holds_alternative<bool>(arg) ? boolClass
                                             : noneClass;
}

uint64_t mixed(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return uint64_t(product) ^ uint64_t(product >> 64);
}

} // namespace

void LaunchKey::addText(std::string_view text, uint8_t tag) {
  // Names are short: tag, length and the first four characters share a word.
  constexpr size_t first = 4, longText = 0xffffff;
  uint32_t begin = 0;
  std::memcpy(&begin, text.data(), std::min(text.size(), first));
  add(uint64_t(begin) << 32 | uint64_t(std::min(text.size(), longText)) << 8 |
      tag);
  if (text.size() >= longText)
    add(text.size());
  for (size_t at = first; at < text.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + at, std::min<size_t>(text.size() - at, 8));
    add(word);
  }
}

void LaunchKey::addConstexpr(std::string_view name,
                             const ConstexprValue &value) {
  if (const int64_t *number = std::get_if<int64_t>(&value))
    return addConstexpr(name, *number);
  static_assert(
      std::is_same_v<std::variant_alternative_t<integerTag, ConstexprValue>,
                     int64_t>);
  addText(name, uint8_t(value.index()));
  std::visit(
      [&](const auto &held) {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, std::string>) {
          addText(held);
        } else if constexpr (std::is_same_v<T, EncodedConstexpr>) {
          addText(held.json);
        } else if constexpr (std::is_same_v<T, double>) {
          add(std::bit_cast<uint64_t>(held));
        } else if constexpr (!std::is_same_v<T, std::nullptr_t>) {
          add(uint64_t(held));
        }
      },
      value);
}

void LaunchKey::addClasses(std::span<const Arg> args,
                           const bool *unspecialized) {
  assert((unspecialized || args.empty()) && "a flag for each argument");
  for (size_t i = 0; i < args.size(); i += 8) {
    uint64_t word = 0;
    const size_t last = std::min(args.size(), i + 8);
    for (size_t j = i; j < last; ++j)
      word |= uint64_t(classOf(args[j], unspecialized[j])) << (8 * (j - i));
    add(word);
  }
}

void LaunchKey::addOutside(std::span<const Arg> args,
                           std::span<const DeclaredRange> ranges) {
  for (const DeclaredRange &range : ranges) {
    const Arg &arg = args[range.argument];
    bool outside = false;
    if (const auto *number = std::get_if<int64_t>(&arg))
      outside = *number < range.least ||
                (*number > 0 && uint64_t(*number) > range.most);
    else if (const auto *large = std::get_if<uint64_t>(&arg))
      outside = *large > range.most;
    add(outside);
  }
}

void LaunchKey::addValues(std::span<const Arg> args) {
  for (const Arg &arg : args)
    if (const auto *number = std::get_if<int64_t>(&arg))
      add(uint64_t(*number));
    else if (const auto *large = std::get_if<uint64_t>(&arg))
      add(*large);
    else if (const auto *real = std::get_if<double>(&arg))
      add(std::bit_cast<uint64_t>(*real));
    else if (const auto *flag = std::get_if<bool>(&arg))
      add(*flag);
}

void addConstexprs(LaunchKey &key, const Constexprs &constexprs) {
  for (const auto &[name, value] : constexprs)
    key.addConstexpr(name, value);
}

uint64_t hashOf(LaunchKey::View key) {
  // Two independent chains of multiplications; the constants of wyhash.
  constexpr uint64_t k0 = 0xa0761d6478bd642f, k1 = 0xe7037ed1a0b428db;
  uint64_t a = k0 ^ key.size(), b = k1;
  size_t i = 0;
  for (; i + 1 < key.size(); i += 2) {
    a = mixed(a ^ key[i], k1);
    b = mixed(b ^ key[i + 1], k0);
  }
  if (i < key.size())
    a = mixed(a ^ key[i], k1);
  return mixed(a ^ k0, b ^ k1);
}

} // namespace tessera::runtime

namespace tessera {

void Kernel::State::beginKey(runtime::LaunchKey &key,
                             const runtime::LaunchDevice &device,
                             std::span<const Arg> args,
                             const LaunchOptions &options, bool values) const {
  if (args.size() != parameters.size())
    checkCount(args.size());
  const auto &[numWarps, numStages, handle, stream, wideGrid, sequence, tuned] =
      options;
  // The key contains the device instead of the handle. Code does not depend on
  // the stream.
  static_cast<void>(handle), static_cast<void>(stream);
  // These only affect the configuration's tag.
  static_cast<void>(sequence), static_cast<void>(tuned);
  const uint64_t tag = runtime::configurationTag(device, options);
  key.add(uint64_t(device.number) << 32 | uint64_t(tag != 0) << 4 |
          uint64_t(wideGrid && !device.isCpu()) << 3 | uint64_t(values) << 2 |
          uint64_t(numWarps.has_value()) << 1 |
          uint64_t(numStages.has_value()));
  if (numWarps)
    key.add(uint64_t(*numWarps));
  if (numStages)
    key.add(uint64_t(*numStages));
  if (tag)
    key.add(tag);
  key.addClasses(args, unspecialized.get());
  key.addOutside(args, declaredRanges);
  if (values)
    key.addValues(args);
}

} // namespace tessera
