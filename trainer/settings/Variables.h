// trainer/settings/Variables.h - settings from NSA_* environment variables.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/settings/Config.h"

#include <string>
#include <vector>

namespace tessera::trainer {

struct VariableSetting {
  std::string key, text, variable;
};

/// The settings that variables ask for. Throws tessera::Error for an NSA_*
/// variable that would be without effect here; others are not looked at.
std::vector<VariableSetting> settingsOf(const Environment &environment);

/// The NSA_* variables of this process.
Environment processEnvironment();

} // namespace tessera::trainer
