// compiler/semantics/Prelude.h - builtins that are written in the language.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Program.h"

namespace tessera::semantics {

/// tl.rand and others: a kernel file whose functions are members of tl.
/// Parsed on first use.
const language::Program &prelude();

/// The function behind tl.NAME, or null. Names with a leading underscore are
/// the prelude's own.
const language::FunctionDef *preludeFunction(std::string_view name);

/// The same of tl.extra.libdevice.NAME, which stand in a file of their own.
const language::FunctionDef *libdeviceFunction(std::string_view name);

/// The one of the two that a function of `file` belongs to, or null.
const language::Program *
preludeOf(const std::shared_ptr<const SourceFile> &file);

// The atomic loads and stores of the prelude.
extern const char *const kPreludeAtomicsText;

// The parts of libdevice: libdevice_NAME is tl.extra.libdevice.NAME.
extern const char *const kLibdeviceText;
extern const char *const kLibdeviceElementaryText;
extern const char *const kLibdeviceSpecialText;
extern const char *const kLibdeviceBitsText;
std::string libdeviceRoundingText();

} // namespace tessera::semantics
