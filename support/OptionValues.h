// support/OptionValues.h - checks values of environment variables that a
// program would otherwise read late or never.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tessera {

// Throws Error if TESSERA_LOG is not a level or TESSERA_PRINT_LIMIT is not a
// whole number. Programs call it at their start: the logger reads its level at
// the first message, and a launch its limit when the kernel prints.
void checkOptionValues();

} // namespace tessera
