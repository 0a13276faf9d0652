// support/LanguageGaps.h - identifies diagnostics about valid Triton code that
// this build does not support.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Diagnostics.h"

#include <string_view>

namespace tessera {

// True if the id reports code that Triton compiles and this build does not
// support yet, rather than a mistake of the author.
bool isLanguageGap(DiagnosticId id);

// True if a rendered message contains such an id.
bool namesLanguageGap(std::string_view message);

} // namespace tessera
