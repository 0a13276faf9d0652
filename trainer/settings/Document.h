// trainer/settings/Document.h - lists the settings for --help and docs.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/settings/Config.h"

#include <string>

namespace tessera::trainer {

/// Returns a line for every setting: key, value, meaning, and the source of a
/// value that is not the default.
std::string describe(const Config &config);

/// Returns key, default and meaning of every setting, for --help.
std::string settingsHelp();

/// Returns the contents of docs/settings.md.
std::string settingsPage();

} // namespace tessera::trainer
