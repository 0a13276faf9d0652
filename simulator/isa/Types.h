// simulator/isa/Types.h - operand types and classes of PTX instructions.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace tessera::sim {

// Type suffixes (PTX ISA, "Types"). Packed types name a whole register.
enum class Type : uint8_t {
  None,
  Pred,
  B1,
  B4,
  B8,
  B16,
  B32,
  B64,
  B128,
  U8,
  U16,
  U32,
  U64,
  U16x2,
  S4,
  U4,
  S8,
  S16,
  S32,
  S64,
  S16x2,
  F16,
  F16x2,
  Bf16,
  Bf16x2,
  Tf32,
  F32,
  F32x2,
  F64,
  E4m3,
  E5m2,
  E4m3x2,
  E5m2x2,
};

// Returns the type of a suffix without the dot, or None if it does not name
// one.
Type typeFromSuffix(std::string_view suffix);
// Returns the bits of a register of the type; 1 for a predicate.
unsigned typeBits(Type type);
bool isSignedType(Type type);

// What an instruction is counted as, and which unit executes it.
enum class Class : uint8_t {
  Integer,
  Multiply,
  Float,
  Half,
  Double,
  Special,
  Convert,
  Move,
  Predicate,
  Control,
  Barrier,
  GlobalLoad,
  GlobalStore,
  GlobalAtomic,
  SharedLoad,
  SharedStore,
  SharedAtomic,
  Local,
  Constant,
  AsyncCopy,
  AsyncWait,
  Matrix,
  Tensor,
  Warp,
  Other,
};
inline constexpr unsigned NumClasses = static_cast<unsigned>(Class::Other) + 1;
const char *className(Class kind);

} // namespace tessera::sim
