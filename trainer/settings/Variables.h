// trainer/settings/Variables.h - reads settings from NSA_* environment
// variables.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/settings/Config.h"

#include <string>
#include <vector>

namespace tessera::trainer {

/// The key and the value that a variable sets.
struct VariableSetting {
  std::string key, text, variable;
};

/// Returns the settings that NSA_* variables set. Throws tessera::Error if an
/// NSA_* variable has no effect; ignores other variables.
std::vector<VariableSetting> settingsOf(const Environment &environment);

/// Returns the NSA_* variables of this process.
Environment processEnvironment();

} // namespace tessera::trainer
