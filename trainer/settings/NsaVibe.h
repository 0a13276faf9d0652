// trainer/settings/NsaVibe.h - files of settings that were written for
// nsa-vibe.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/settings/Config.h"

#include <string>

namespace tessera::trainer {

/// Whether only files for nsa-vibe have a setting of this name.
bool isNameOfNsaVibe(const std::string &name);

/// "WARNING: run.yaml is a file for nsa-vibe, ...", which names each setting
/// that the file leaves out and for which nsa-vibe has another value; empty for
/// other files, and where the two agree.
std::string nsaVibeWarning(const Config &config);

} // namespace tessera::trainer
