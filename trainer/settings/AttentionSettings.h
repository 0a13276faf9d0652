// trainer/settings/AttentionSettings.h - the settings of attention: kinds that
// repeat over the layers, patterns and their parameters.
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

/// Returns "window, dense" of a list, "window=8; ; window=64" of a list of maps
/// of parameters, and "[window=8]" of a list of one map. A scalar is returned
/// as it is.
std::string attentionText(const YAML::Node &node);

/// The source of the settings of attention.
enum class AttentionOrigin {
  User,   ///< Reads the files of patterns, checks and completes parameters.
  Stored, ///< A stored run, which was checked at its start: reads no file.
};

/// Sets config.model.kinds from the settings of attention and normalizes the
/// settings' spelling. Throws tessera::Error for a missing pattern, an unknown
/// parameter, and contradictory settings.
void settleAttention(Config &config, AttentionOrigin origin);

/// Returns the setting attention.pattern of these kinds.
std::string attentionList(const std::vector<models::LayerKind> &kinds);

/// Returns the first difference of the attention of the layers, such as
/// "layer 1: window(window=8), this run has window(window=64)". Empty: both
/// are the same, however they are written. Does not compare texts of patterns.
std::string attentionDifference(const Config &earlier, const Config &config);

/// True if the layers of both have the same kinds and patterns; parameters may
/// differ.
bool sameAttentionKinds(const Config &earlier, const Config &config);

} // namespace tessera::trainer
