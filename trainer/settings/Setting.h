// trainer/settings/Setting.h - one setting of a run, and the table of all.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/settings/Config.h"

#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace tessera::trainer {

/// A word that a setting takes. One of a feature that is not built has the
/// message that refuses it.
struct Choice {
  std::string name;
  int value = 0;
  std::string missing; ///< Empty: it can be chosen.
};

/// An enumerated value in a Config.
struct ChoiceField {
  const std::vector<Choice> *choices;
  std::function<int()> get;
  std::function<void(int)> set;
};

/// Where a setting's value is kept; nothing for a key without a feature.
using Field = std::variant<std::monostate, std::string *, bool *, int64_t *,
                           double *, StepRange *, ChoiceField>;

/// What a resumed run may do to a setting.
enum class AtResume {
  Keep,     ///< Results depend on it: another value is refused.
  Change,   ///< Results do not depend on it.
  Announce, ///< Results depend on it, but it may change, with a line.
};

struct Setting {
  std::string key;                  ///< "train.batch_size"
  std::vector<std::string> aliases; ///< Other keys with the same meaning.
  std::string variable;             ///< Environment twin; empty: none.
  std::string doc;
  double low = 0, high = 0; ///< Of numbers, both included.
  AtResume atResume = AtResume::Keep;
  std::function<Field(Config &)> field;
  /// Of a key without a feature: the texts that ask for nothing it would do.
  std::vector<std::string> accepted;

  bool absent() const { return !accepted.empty() || !field; }
};

/// Every key that a config may have, by subject; those of features that are
/// not built come last.
const std::vector<Setting> &settingsTable();

/// By key or alias; null when there is none.
const Setting *findSetting(const std::string &name);
/// By environment variable; null when there is none.
const Setting *findTwin(const std::string &variable);

/// Reads a value as YAML or a command line spells it. Throws tessera::Error
/// that names the key: a bad value, one out of range, one of a feature that is
/// not built.
void setValue(const Setting &setting, Config &config, const std::string &text);
/// The value as setValue() reads it.
std::string valueText(const Setting &setting, const Config &config);
/// "a whole number, 1 to 1024", "nsa, dense or sdpa".
std::string typeText(const Setting &setting);

} // namespace tessera::trainer
