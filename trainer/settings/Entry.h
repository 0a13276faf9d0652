// trainer/settings/Entry.h - builds the entries of the table of settings.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/settings/Setting.h"

#include <type_traits>

namespace tessera::trainer {

/// Returns a word that a setting accepts and the word's value.
template <typename E>
Choice choice(const char *name, E value) {
  return {name, int(value), {}};
}

/// Builds one entry of the table.
class SettingEntry {
public:
  /// `member` returns a reference to the value in a Config.
  template <typename F>
  static SettingEntry of(const char *key, F member, const char *doc) {
    SettingEntry e(key, doc);
    e.setting.field = [member](Config &c) -> Field { return &member(c); };
    return e;
  }
  /// Builds an entry whose value is one of `choices`, which must outlive it.
  template <typename F>
  static SettingEntry oneOf(const char *key, F member,
                            const std::vector<Choice> &choices,
                            const char *doc) {
    SettingEntry e(key, doc);
    e.setting.field = [member, &choices](Config &c) -> Field {
      auto &value = member(c);
      using Value = std::remove_reference_t<decltype(value)>;
      return ChoiceField{&choices, [&value] { return int(value); },
                         [&value](int v) { value = Value(v); }};
    };
    return e;
  }
  /// Builds a key without an effect, such as that of a feature that is not
  /// implemented.
  static SettingEntry absent(const char *key, std::vector<std::string> accepted,
                             const char *doc) {
    SettingEntry e(key, doc);
    e.setting.accepted = std::move(accepted);
    return e;
  }

  /// Sets the range of a number, both ends included.
  SettingEntry range(double low, double high) {
    setting.low = low;
    setting.high = high;
    return *this;
  }
  /// Adds another key with the same meaning.
  SettingEntry also(const char *alias) {
    setting.aliases.push_back(alias);
    return *this;
  }
  /// Sets the environment variable that also sets the value.
  SettingEntry twin(const char *variable) {
    setting.variable = variable;
    return *this;
  }
  /// Allows a resumed run to change the value, because results do not depend on
  /// it.
  SettingEntry free() {
    setting.atResume = AtResume::Change;
    return *this;
  }
  /// Allows a resumed run to change the value, which it then reports.
  SettingEntry announced() {
    setting.atResume = AtResume::Announce;
    return *this;
  }
  operator Setting() const { return setting; }

private:
  SettingEntry(const char *key, const char *doc) {
    setting.key = key;
    setting.doc = doc;
  }
  Setting setting;
};

/// Return the sections of settingsTable() for the model, for training steps,
/// and for evaluation and checkpoints.
std::vector<Setting> modelSettings();
std::vector<Setting> trainSettings();
std::vector<Setting> routineSettings();

} // namespace tessera::trainer

/// Expands to a function that returns a member of a Config, for SettingEntry.
#define MEMBER(path)                                                           \
  [](tessera::trainer::Config &c) -> auto & { return c.path; }
