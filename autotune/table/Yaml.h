// autotune/table/Yaml.h - strict YAML reader; every message has a place.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::tune {

// Base of the readers of YAML files. Throws Error "FILE:LINE:COLUMN: ..." with
// a hint for an invalid value.
class YamlReader {
protected:
  using Members = std::map<std::string, YAML::Node>;

  explicit YamlReader(std::string name) : name(std::move(name)) {}

  std::string placeOf(const YAML::Mark &mark) const;
  [[noreturn]] void fail(const YAML::Node &node, const std::string &what,
                         const std::string &hint) const;
  // Returns the members of a map by name. Rejects repeated names, and names
  // outside of `known` unless it is empty.
  Members map(const YAML::Node &node, const std::string &what,
              const std::vector<std::string> &known,
              const std::vector<std::string> &needed) const;
  YAML::Node need(const YAML::Node &node, const Members &members,
                  const std::string &key) const;
  // Returns a text of one line in UTF-8.
  std::string text(const YAML::Node &node) const;
  int64_t integer(const YAML::Node &node) const;
  double number(const YAML::Node &node) const; // finite
  bool truth(const YAML::Node &node) const;
  // Returns a text for messages; "..." if it is long or not plain.
  static std::string shown(const std::string &text);

private:
  const std::string name; // of the file
};

struct YamlDocument {
  std::string kind; // "table"
  size_t longest = 0;
  std::string secondHint; // used if the text has a second document
};

// Calls `read` with the only document of the text. Throws Error with the place
// of invalid YAML, and the exceptions of `read`.
void readYaml(std::string_view text, const std::string &name,
              const YamlDocument &what,
              const std::function<void(const YAML::Node &)> &read);

} // namespace tessera::tune
