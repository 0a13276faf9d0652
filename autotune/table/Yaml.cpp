// autotune/table/Yaml.cpp - strict YAML reader; every message has a place.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/table/Yaml.h"

#include "autotune/table/TuneText.h"
#include "support/Error.h"
#include "support/Names.h"
#include "support/Text.h"

#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <cmath>
#include <sstream>

namespace tessera::tune {

namespace {

std::string place(const std::string &name, const YAML::Mark &mark) {
  if (mark.is_null())
    return name;
  return name + ":" + std::to_string(mark.line + 1) + ":" +
         std::to_string(mark.column + 1);
}

// Parses a document and discards it.
class Skipped : public YAML::EventHandler {
  using Mark = YAML::Mark;
  using Style = YAML::EmitterStyle::value;
  using Text = std::string;

  void OnDocumentStart(const Mark &) override {}
  void OnDocumentEnd() override {}
  void OnNull(const Mark &, YAML::anchor_t) override {}
  void OnAlias(const Mark &, YAML::anchor_t) override {}
  void OnScalar(const Mark &, const Text &, YAML::anchor_t,
                const Text &) override {}
  void OnSequenceStart(const Mark &, const Text &, YAML::anchor_t,
                       Style) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const Mark &, const Text &, YAML::anchor_t, Style) override {}
  void OnMapEnd() override {}
};

// Parses only up to the second document: yaml-cpp finds endless documents in
// texts such as ", ,".
bool hasSecondDocument(const std::string &text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  Skipped skipped;
  return parser.HandleNextDocument(skipped) &&
         parser.HandleNextDocument(skipped);
}

} // namespace

std::string YamlReader::placeOf(const YAML::Mark &mark) const {
  return place(name, mark);
}

void YamlReader::fail(const YAML::Node &node, const std::string &what,
                      const std::string &hint) const {
  throw Error(placeOf(node.Mark()) + ": " + what, hint);
}

YamlReader::Members
YamlReader::map(const YAML::Node &node, const std::string &what,
                const std::vector<std::string> &known,
                const std::vector<std::string> &needed) const {
  if (!node.IsMap())
    fail(node, what + " is a map of names and values",
         known.empty() ? "write {NAME: VALUE}"
                       : "write lines such as `" + known[0] + ": ...`");
  Members members;
  for (const auto &item : node) {
    if (!item.first.IsScalar())
      fail(item.first, "a name in " + what + " is not text",
           "write NAME: VALUE");
    const std::string &key = item.first.Scalar();
    if (!known.empty() &&
        std::find(known.begin(), known.end(), key) == known.end())
      fail(item.first, what + " has no `" + shown(key) + "`",
           nearestNameHint(key, known, "names"));
    if (!members.emplace(key, item.second).second)
      fail(item.first, "`" + shown(key) + "` is there twice",
           "remove one of the two");
  }
  for (const std::string &key : needed)
    need(node, members, key);
  return members;
}

YAML::Node YamlReader::need(const YAML::Node &node, const Members &members,
                            const std::string &key) const {
  const auto found = members.find(key);
  if (found == members.end())
    fail(node, "`" + key + "` is missing", "add `" + key + ": ...`");
  return found->second;
}

std::string YamlReader::text(const YAML::Node &node) const {
  if (!node.IsScalar() || !isPlainText(node.Scalar()))
    fail(node, "this is not a line of text", "write one line, in quotes");
  return node.Scalar();
}

int64_t YamlReader::integer(const YAML::Node &node) const {
  const auto value =
      node.IsScalar() ? numberFromText<int64_t>(node.Scalar()) : std::nullopt;
  if (!value)
    fail(node, "this is not a whole number of 64 bits", "write a number");
  return *value;
}

double YamlReader::number(const YAML::Node &node) const {
  const auto value =
      node.IsScalar() ? numberFromText<double>(node.Scalar()) : std::nullopt;
  if (!value || !std::isfinite(*value))
    fail(node, "this is not a finite number", "write a number such as 12.5");
  return *value;
}

bool YamlReader::truth(const YAML::Node &node) const {
  if (!node.IsScalar() || (node.Scalar() != "true" && node.Scalar() != "false"))
    fail(node, "this is neither true nor false", "write true or false");
  return node.Scalar() == "true";
}

std::string YamlReader::shown(const std::string &text) {
  return isPlainText(text) && text.size() <= 60 ? text : "...";
}

void readYaml(std::string_view text, const std::string &name,
              const YamlDocument &what,
              const std::function<void(const YAML::Node &)> &read) {
  if (text.size() > what.longest)
    throw Error(name + ": a " + what.kind + " of " +
                    std::to_string(text.size()) + " bytes",
                "a " + what.kind + " has at most " +
                    std::to_string(what.longest));
  try {
    read(YAML::Load(std::string(text)));
    if (hasSecondDocument(std::string(text)))
      throw Error(name + ": more than one YAML document where one " +
                      what.kind + " should be",
                  what.secondHint);
  } catch (const YAML::Exception &error) {
    throw Error(place(name, error.mark) + ": " + error.msg,
                "indent with spaces, one `name: value` a line");
  }
}

} // namespace tessera::tune
