// compiler/semantics/Prelude.h - builtins that are written in the language.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/syntax/Program.h"

namespace tessera::semantics {

/// tl.rand and others: a kernel file whose functions are members of tl.
/// Parsed on first use.
const syntax::Program &prelude();

/// The function behind tl.NAME, or null. Names with a leading underscore are
/// the prelude's own.
const syntax::FunctionDef *preludeFunction(std::string_view name);

/// Its second part: libdevice_NAME is tl.extra.libdevice.NAME.
extern const char *const kLibdeviceText;

} // namespace tessera::semantics
