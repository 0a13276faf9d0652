// cmake/GccTypeNames.h - names of types as the MLIR packages spell them.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// MLIR tells op traits apart by the printed name of Trait<Empty>, Empty being a
// class local to a function. The packages are built with clang, which prints
// "mlir::OpTrait::ConstantLike<Empty>"; GCC prints the function as well. With
// two names for one trait, matchPattern(m_Constant()) and hasTrait() in our
// code silently say no for every op of MLIR's own. This header takes the place
// of llvm/Support/TypeName.h in code built with GCC; it is included by force
// (TesseraTargets.cmake).
#pragma once

#ifndef LLVM_SUPPORT_TYPENAME_H
#define LLVM_SUPPORT_TYPENAME_H

#include "llvm/ADT/StringRef.h"

#include <string>
#include <string_view>

namespace tessera::detail {

inline std::string clangTypeName(std::string_view function) {
  std::string_view key = "DesiredTypeName = ";
  std::string name(function.substr(function.find(key) + key.size()));
  name.pop_back(); // the closing bracket
  std::string_view local = "()::Empty>";
  size_t scope = name.find("<mlir::TypeID::get<");
  if (scope != std::string::npos && name.ends_with(local))
    name.replace(scope, std::string::npos, "<Empty>");
  return name;
}

} // namespace tessera::detail

namespace llvm {

template <typename DesiredTypeName>
inline StringRef getTypeName() {
  // Never freed: MLIR keeps references to it until the process ends.
  static const std::string &name =
      *new std::string(tessera::detail::clangTypeName(__PRETTY_FUNCTION__));
  return name;
}

} // namespace llvm

#endif // LLVM_SUPPORT_TYPENAME_H
