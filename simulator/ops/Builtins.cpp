// simulator/ops/Builtins.cpp - vprintf and __assertfail.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "simulator/ops/Access.h"

#include "simulator/machine/Decode.h"

#include <cstdio>
#include <cstring>

namespace tessera::sim {
namespace {

constexpr size_t MaxText = 4096;

// Returns argument k of a call, which is stored in the lane's local memory.
template <class T>
T argument(Warp &w, const Inst &i, U32 k, U32 lane) {
  U64 at = *w.row64(i.op[k]);
  T value{};
  if (at + sizeof(T) <= w.program->localBytes)
    std::memcpy(&value, w.local + lane * w.program->localBytes + at, sizeof(T));
  return value;
}

template <class T>
void result(Warp &w, const Inst &i, U32 lane, T value) {
  if (!i.flag)
    return;
  U64 at = *w.row64(i.op[i.count]);
  if (at + sizeof(T) > w.program->localBytes)
    return;
  std::memcpy(w.local + lane * w.program->localBytes + at, &value, sizeof(T));
  std::memset(w.localPoison + lane * w.program->localBytes + at, 0, sizeof(T));
}

// Returns the bytes at a generic address. Throws Violation if no memory is
// mapped there.
const uint8_t *bytesAt(Warp &w, U32 lane, U64 address, U64 count) {
  if ((address & WindowMask) == LocalWindow) {
    U64 at = address & ~WindowMask;
    if (at + count <= w.program->localBytes)
      return w.local + lane * w.program->localBytes + at;
  } else if ((address & WindowMask) == SharedWindow) {
    U64 at = address & ~WindowMask;
    if (at + count <= w.block->shared.size())
      return w.block->shared.data() + at;
  } else if (Allocation *a = w.block->launch.memory->find(address);
             a && address + count <= a->end) {
    return reinterpret_cast<const uint8_t *>(address);
  }
  violate({Check::OutOfBounds, lane, "an argument of this call points nowhere",
           address, w.block->launch.memory->describe(address), ""});
}

std::string stringAt(Warp &w, U32 lane, U64 address) {
  std::string text;
  while (text.size() < MaxText) {
    auto c = static_cast<char>(*bytesAt(w, lane, address + text.size(), 1));
    if (!c)
      break;
    text += c;
  }
  return text;
}

// Formats one conversion of printf with a value from the packed arguments.
std::string formatted(Warp &w, U32 lane, const std::string &spec, U64 buffer,
                      U64 &offset) {
  char kind = spec.back();
  bool isFloat = std::strchr("aAeEfFgG", kind) != nullptr;
  bool wide = isFloat || kind == 's' || kind == 'p' ||
              spec.find("ll") != std::string::npos ||
              spec.find('l') != std::string::npos;
  U64 size = wide ? 8 : 4;
  offset = (offset + size - 1) / size * size;
  U64 bits = 0;
  std::memcpy(&bits, bytesAt(w, lane, buffer + offset, size), size);
  offset += size;
  std::string plain = "%";
  for (size_t k = 1; k + 1 < spec.size(); ++k)
    if (std::strchr("hljztL", spec[k]) == nullptr)
      plain += spec[k];
  if (plain.find('*') != std::string::npos || plain.size() > 16)
    return spec;
  char text[512];
  if (isFloat) {
    double value;
    std::memcpy(&value, &bits, 8);
    std::snprintf(text, sizeof(text), (plain + kind).c_str(), value);
  } else if (kind == 's') {
    return stringAt(w, lane, bits);
  } else if (kind == 'c') {
    return std::string(1, static_cast<char>(bits));
  } else if (kind == 'p') {
    std::snprintf(text, sizeof(text), "0x%llx",
                  static_cast<unsigned long long>(bits));
  } else if (kind == 'd' || kind == 'i') {
    long long value =
        wide ? static_cast<long long>(bits) : static_cast<int32_t>(bits);
    std::snprintf(text, sizeof(text), (plain + "ll" + kind).c_str(), value);
  } else if (std::strchr("uxXo", kind)) {
    std::snprintf(text, sizeof(text), (plain + "ll" + kind).c_str(),
                  static_cast<unsigned long long>(bits));
  } else {
    return spec;
  }
  return text;
}

void printfOp(Warp &w, const Inst &i, U32 mask) {
  for (U32 l = 0; l < Lanes; ++l) {
    if (!((mask >> l) & 1))
      continue;
    std::string format = stringAt(w, l, argument<U64>(w, i, 0, l));
    U64 buffer = argument<U64>(w, i, 1, l), offset = 0;
    std::string text;
    for (size_t k = 0; k < format.size(); ++k) {
      if (format[k] != '%') {
        text += format[k];
        continue;
      }
      if (k + 1 < format.size() && format[k + 1] == '%') {
        text += '%';
        ++k;
        continue;
      }
      size_t end = format.find_first_not_of("0123456789+-# .*hljztL", k + 1);
      if (end == std::string::npos)
        break;
      text += formatted(w, l, format.substr(k, end - k + 1), buffer, offset);
      k = end;
    }
    w.block->print(text);
    result<int32_t>(w, i, l, 0);
  }
}

// Implements __assertfail(message, file, line, function, character size).
void assertOp(Warp &w, const Inst &i, U32 mask) {
  U32 lane = firstLane(mask);
  std::string text = stringAt(w, lane, argument<U64>(w, i, 0, lane));
  std::string file = stringAt(w, lane, argument<U64>(w, i, 1, lane));
  std::string function = stringAt(w, lane, argument<U64>(w, i, 3, lane));
  violate({Check::Assertion, lane,
           "assertion failed: " + text + " (" + file + ":" +
               std::to_string(argument<U32>(w, i, 2, lane)) + ", " + function +
               ")",
           0, "", ""});
}

} // namespace

Exec builtinFunction(const std::string &name) {
  if (name == "vprintf")
    return printfOp;
  if (name == "__assertfail")
    return assertOp;
  return nullptr;
}

} // namespace tessera::sim
