// autotune/table/Yaml.h - reading YAML files strictly, with places in every
// message.
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

// What readers of one kind of file share: values that are what they should be,
// else an Error "FILE:LINE:COLUMN: ..." with a hint.
class YamlReader {
protected:
  using Members = std::map<std::string, YAML::Node>;

  explicit YamlReader(std::string name) : name(std::move(name)) {}

  std::string placeOf(const YAML::Mark &mark) const;
  [[noreturn]] void fail(const YAML::Node &node, const std::string &what,
                         const std::string &hint) const;
  // The members of a map by name; each name once, and known unless `known` is
  // empty.
  Members map(const YAML::Node &node, const std::string &what,
              const std::vector<std::string> &known,
              const std::vector<std::string> &needed) const;
  YAML::Node need(const YAML::Node &node, const Members &members,
                  const std::string &key) const;
  // One line of UTF-8.
  std::string text(const YAML::Node &node) const;
  int64_t integer(const YAML::Node &node) const;
  double number(const YAML::Node &node) const; // finite
  bool truth(const YAML::Node &node) const;
  // For messages: "..." where the text is long or no plain text.
  static std::string shown(const std::string &text);

private:
  const std::string name; // of the file
};

struct YamlDocument {
  std::string kind; // "table"
  size_t longest = 0;
  std::string secondHint; // where there is a second document
};

// Calls `read` with the only document of the text. Throws Error with the place
// of what is no YAML, and what `read` throws.
void readYaml(std::string_view text, const std::string &name,
              const YamlDocument &what,
              const std::function<void(const YAML::Node &)> &read);

} // namespace tessera::tune
