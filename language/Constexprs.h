// language/Constexprs.h - element types and the values of constexpr parameters
// as a program passes them to a launch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace tessera {

enum class DType : uint8_t {
  I1,
  I8,
  I16,
  I32,
  I64,
  U8,
  U16,
  U32,
  U64,
  FP16,
  BF16,
  FP32,
  FP64,
  FP8E4NV, // torch.float8_e4m3fn
  FP8E5,   // torch.float8_e5m2
};
// "i1", "bf16", "fp32": the names the language's signatures use.
const char *dtypeName(DType type);
// From "bf16", "bfloat16" or "tl.bfloat16"; nullopt if the text does not name a
// dtype.
std::optional<DType> dtypeFromText(std::string_view text);

// A constexpr that the other alternatives of ConstexprValue cannot represent: a
// tuple, a list, an integer beyond 64 bits.
struct EncodedConstexpr {
  std::string json; // as of language/ValueJson.h, in canonical form
  auto operator<=>(const EncodedConstexpr &) const = default;
};
// The value of a constexpr parameter. A std::string is Python's str.
using ConstexprValue = std::variant<std::nullptr_t, bool, int64_t, double,
                                    std::string, DType, EncodedConstexpr>;
using Constexprs = std::map<std::string, ConstexprValue>;

// A function that kernels call, such as a @triton.jit function, as the value of
// a constexpr. `file`: a kernel file that defines or imports it, searched for
// from the folder of the kernel's file and the current folder; without, the
// kernel's own file.
ConstexprValue functionNamed(const std::string &name,
                             const std::string &file = "");

// From a JSON object; a string that starts with "tl." names a dtype. Throws
// Error.
Constexprs constexprsFromJson(std::string_view text);

} // namespace tessera
