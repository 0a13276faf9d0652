// trainer/settings/AttentionSettings.h - reads the settings of attention: kinds
// that repeat over the layers, patterns and their parameters.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/settings/Config.h"

#include <string>
#include <vector>
#include <yaml-cpp/yaml.h>

namespace tessera::trainer {

/// Returns the key that `attention: TEXT` sets: "attention" for one built-in
/// kind, "attention.pattern" for a pattern or a list.
std::string keyOfAttention(const std::string &text);

/// True for the keys `attention` and `attention_params` and for the keys of
/// settings that are derived from them.
bool isAttentionSetting(const std::string &key);

/// Converts a YAML value to the text of a setting: a list to "window, dense", a
/// list of maps of parameters to "window=8; ; window=64", a list of one map to
/// "[window=8]". Returns scalars unchanged.
std::string attentionText(const YAML::Node &node);

/// Where the settings of attention come from.
enum class AttentionOrigin {
  User,   ///< The user: files of patterns are read, parameters checked and
          ///< completed.
  Stored, ///< A stored run, which was checked at its start: no file is read.
};

/// Sets config.model.kinds from the settings of attention and normalizes the
/// spelling of these settings. Throws tessera::Error if a pattern does not
/// exist, a parameter is unknown, or settings contradict each other.
void settleAttention(Config &config, AttentionOrigin origin);

/// Returns the setting attention.pattern of these kinds.
std::string attentionList(const std::vector<models::LayerKind> &kinds);

/// Returns the first difference between the attention of the layers, such as
/// "layer 1: window(window=8), this run has window(window=64)", or an empty
/// string. Ignores spelling, and does not compare the contents of pattern
/// files.
std::string attentionDifference(const Config &earlier, const Config &config);

/// True if the layers of both runs have the same kinds and patterns. Parameters
/// may differ.
bool sameAttentionKinds(const Config &earlier, const Config &config);

} // namespace tessera::trainer
