// compiler/semantics/builtins/Words.h - string arguments of a fixed set.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/semantics/Builtins.h"

#include "dialect/tile/TileDialect.h"

namespace tessera::semantics {

/// The string argument `index`; empty if the call leaves it out. Fails if it is
/// not one of `known`.
inline std::string word(BuiltinCall &call, size_t index,
                        llvm::ArrayRef<llvm::StringRef> known) {
  std::string text = call.string(index);
  if (text.empty() || llvm::is_contained(known, text))
    return text;
  std::string hint = "one of";
  for (llvm::StringRef item : known)
    hint += " '" + item.str() + "'";
  call.fail(index, DiagnosticId::BadArgument,
            call.what(index) + " cannot be '" + text + "'", hint);
}

/// The same for the words of an enumeration of the dialect; null if the call
/// leaves it out.
template <typename EnumAttr>
EnumAttr wordAs(BuiltinCall &call, size_t index) {
  using Enum = decltype(EnumAttr().getValue());
  std::string text = word(call, index, tile::wordsOf<Enum>());
  if (text.empty())
    return {};
  return EnumAttr::get(&call.emit.context(), *tile::symbolizeEnum<Enum>(text));
}

} // namespace tessera::semantics
