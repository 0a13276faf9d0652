// trainer/settings/NsaVibe.h - supports configuration files of nsa-vibe, the
// Python implementation of NSA, and explains its flags.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/settings/Config.h"

#include <string>
#include <utility>
#include <vector>

namespace tessera::trainer {

/// Returns true if only files for nsa-vibe contain a setting of this name.
bool isNameOfNsaVibe(const std::string &name);

/// Returns the keys and values with which a file for nsa-vibe gets nsa-vibe's
/// model, for settings whose default differs here. They apply if the file does
/// not set the key.
std::vector<std::pair<std::string, std::string>> modelOfNsaVibe();

/// Returns the origin of such a value, for a file of this name.
std::string originAsNsaVibe(const std::string &file);

/// Returns a line "run.yaml is a file for nsa-vibe ...", which lists every
/// remaining difference between this run and the same run of nsa-vibe. Returns
/// an empty string for other files.
std::string nsaVibeLine(const Config &config);

/// Returns settings such as "model.mlp=relu2 nsa.gate=sigmoid": values of
/// `earlier` from which `config` differs only because its file is for nsa-vibe.
/// Empty if there are none.
std::string settingsThatKeepModel(const Config &earlier, const Config &config);

/// Throws tessera::Error if the arguments contain flags of nsa-vibe. The hint
/// names the setting for each flag.
void refuseFlagsOfNsaVibe(const std::vector<std::string> &arguments);

} // namespace tessera::trainer
