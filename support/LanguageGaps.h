// support/LanguageGaps.h - which diagnostics are of language that this build
// does not support.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Diagnostics.h"

#include <string_view>

namespace tessera {

// True if the id names what this build does not support yet of a kernel that
// Triton compiles, not a mistake of the author.
bool isLanguageGap(DiagnosticId id);

// True if a rendered message has such an id.
bool namesLanguageGap(std::string_view message);

} // namespace tessera
