// trainer/settings/Document.cpp - prints the table of settings as text and as
// the page docs/settings.md.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/settings/Document.h"

#include "trainer/settings/Setting.h"

#include <fmt/format.h>

namespace tessera::trainer {
namespace {

std::string atResume(const Setting &s) {
  switch (s.atResume) {
  case AtResume::Keep:
    return "no";
  case AtResume::Change:
    return "yes";
  case AtResume::Announce:
    return "with a line";
  }
  return {};
}

/// Returns the aliases and the environment variable.
std::string otherNames(const Setting &s) {
  std::string text;
  for (const std::string &alias : s.aliases)
    text += (text.empty() ? "`" : ", `") + alias + "`";
  if (!s.variable.empty())
    text += (text.empty() ? "$" : ", $") + s.variable;
  return text;
}

std::string defaultText(const Setting &s) {
  const std::string text = valueText(s, Config());
  return text.empty() ? "" : "`" + text + "`";
}

} // namespace

std::string describe(const Config &config) {
  std::string text;
  for (const Setting &s : settingsTable()) {
    if (s.absent())
      continue;
    const auto origin = config.origins.find(s.key);
    text += fmt::format(
        "{:<29} {:<10} {}{}\n", s.key, valueText(s, config), s.doc,
        origin == config.origins.end() ? "" : "  [" + origin->second + "]");
  }
  return text;
}

std::string settingsHelp() {
  std::string text = "Settings, in the config file (a.b is b below a) or as "
                     "key=value:\n";
  for (const Setting &s : settingsTable())
    if (!s.absent())
      text += fmt::format("  {:<29} {:<10} {}\n", s.key, valueText(s, Config()),
                          s.doc);
  return text;
}

std::string settingsPage() {
  std::string text =
      R"(<!-- Written by `tessera-train config --page` from the tables of trainer/settings: change those. -->
# Settings

A run's settings come from its YAML file (`a.b` is `b` below `a`), over that from
environment variables, over these from `key=value` on the command line, where the
last one counts. `tessera train --dry-run` and `tessera config` print each
with the place it comes from. A key that is not here, or twice in a file, is an
error with its line.

The names are those of nsa-vibe, so that its files remain valid; *other names*
have the same meaning. *May change* describes a resume from a checkpoint that has
another value: `no` refuses it, `with a line` prints a line and continues, or
takes a value that was not given from the checkpoint.

| key | takes | default | meaning | other names | may change |
|---|---|---|---|---|---|
)";
  for (const Setting &s : settingsTable())
    if (!s.absent())
      text +=
          fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", s.key, typeText(s),
                      defaultText(s), s.doc, otherNames(s), atResume(s));
  text += R"(
## Keys without a feature

These keys of nsa-vibe ask for what is not here. A value that asks for
nothing is taken, any other is an error.

| key | taken | why no other |
|---|---|---|
)";
  for (const Setting &s : settingsTable())
    if (s.absent())
      text += fmt::format("| `{}` | `{}` | {} |\n", s.key, s.accepted.front(),
                          s.doc);
  text += R"(
## Environment variables

Variables whose names begin with `NSA_` are those of nsa-vibe. Those in
the table above count; any other that asks for something is an error, because a
run must not differ silently from what its user believes it to be.
)";
  return text;
}

} // namespace tessera::trainer
