// tools/commands/OutOption.h - the option for the output of every verb: -o,
// --out.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace tessera::tools {

// Adds -o, --out. --output is accepted for compatibility, and OneSpelling hides
// it from --help.
template <typename T>
CLI::Option *addOut(CLI::App &verb, T &value, const std::string &help) {
  return verb.add_option("-o,--out,--output", value, help);
}

// Formats --help without old spellings.
class OneSpelling : public CLI::Formatter {
  std::string make_option_name(const CLI::Option *option,
                               bool positional) const override {
    std::string name = CLI::Formatter::make_option_name(option, positional);
    const std::string old = ",--output";
    if (const size_t at = name.find("--out" + old); at != std::string::npos)
      name.erase(at + 5, old.size());
    return name;
  }
};

} // namespace tessera::tools
