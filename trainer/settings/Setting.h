// trainer/settings/Setting.h - describes the settings of a run in a table, from
// which files are read and documentation is generated.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/settings/Config.h"

#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace tessera::trainer {

/// A word that a setting accepts, or refuses because only nsa-vibe supports it.
struct Choice {
  std::string name;
  int value = 0;
  std::string missing; ///< Reason of the refusal; empty: accepted.
};

/// Access to an enumerated value in a Config.
struct ChoiceField {
  const std::vector<Choice> *choices;
  std::function<int()> get;
  std::function<void(int)> set;
};

/// Access to a setting's value; monostate for a key without an effect.
using Field =
    std::variant<std::monostate, std::string *, bool *, int64_t *, double *,
                 StepRange *, StepValues *, models::LayerSet *, ChoiceField>;

/// What a resumed run may do to a setting.
enum class AtResume {
  Keep,     ///< Results depend on it: another value is refused.
  Change,   ///< Results do not depend on it.
  Announce, ///< Results depend on it: a change is allowed and reported.
};

/// An entry of the table.
struct Setting {
  std::string key;                  ///< "train.batch_size"
  std::vector<std::string> aliases; ///< Other keys with the same meaning.
  std::string variable;             ///< Environment variable; empty: none.
  std::string doc;
  double low = 0, high = 0; ///< Range of a number, inclusive.
  AtResume atResume = AtResume::Keep;
  std::function<Field(Config &)> field;
  /// For a key without an effect: the values that do not request the missing
  /// feature.
  std::vector<std::string> accepted;

  /// True for a key without an effect, which nsa-vibe's files may contain.
  bool absent() const { return !accepted.empty() || !field; }
};

/// Returns all settings, grouped by subject. Keys without an effect come last.
const std::vector<Setting> &settingsTable();

/// Returns the setting with this key or alias; null if there is none.
const Setting *findSetting(const std::string &name);
/// Returns the setting of this environment variable; null if there is none.
const Setting *findTwin(const std::string &variable);

/// Sets a value from the text of YAML or of a command line. Throws
/// tessera::Error, with the key, if the value is invalid, out of range, or
/// supported only by nsa-vibe.
void setValue(const Setting &setting, Config &config, const std::string &text);
/// Returns the value as text that setValue() accepts.
std::string valueText(const Setting &setting, const Config &config);
/// Returns what a setting accepts: "a whole number, 1 to 1024", "nsa or dense".
std::string typeText(const Setting &setting);

} // namespace tessera::trainer
