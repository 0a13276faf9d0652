// trainer/settings/NsaVibe.h - files of settings, flags and variables that were
// written for nsa-vibe.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/settings/Config.h"

#include <string>
#include <utility>
#include <vector>

namespace tessera::trainer {

/// Whether only files for nsa-vibe have a setting of this name.
bool isNameOfNsaVibe(const std::string &name);

/// Key and value of each setting whose default here gives another model than
/// nsa-vibe's. A file for nsa-vibe that does not have the key gets the value.
std::vector<std::pair<std::string, std::string>> modelOfNsaVibe();

/// The origin of such a value in a file of that name.
std::string originAsNsaVibe(const std::string &file);

/// One line "run.yaml is a file for nsa-vibe ...", which names every difference
/// that remains between the run and nsa-vibe's; empty for other files.
std::string nsaVibeLine(const Config &config);

/// "model.mlp=relu2 nsa.gate=sigmoid": the values of `earlier` that the run
/// `config` does not have because its file is for nsa-vibe; empty if none.
std::string settingsThatKeepModel(const Config &earlier, const Config &config);

/// Throws tessera::Error for nsa-vibe's flags among the arguments; its hint
/// names the setting of each one.
void refuseFlagsOfNsaVibe(const std::vector<std::string> &arguments);

} // namespace tessera::trainer
