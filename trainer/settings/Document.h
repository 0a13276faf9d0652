// trainer/settings/Document.h - the settings as text for people.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/settings/Config.h"

#include <string>

namespace tessera::trainer {

/// Key, value and meaning of every setting, one line each, and where values
/// that are no defaults come from.
std::string describe(const Config &config);

/// Key, default and meaning of every setting, for --help.
std::string settingsHelp();

/// docs/settings.md.
std::string settingsPage();

} // namespace tessera::trainer
