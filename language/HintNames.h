// language/HintNames.h - names of `# tessera:` comments.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace tessera::language {

// Returns the names of all hints, those of a pattern's directives among them.
inline const std::vector<std::string> &knownHints() {
  static const std::vector<std::string> known = {
      "instance",  "cpu",     "stages",       "swap_ab",
      "predicate", "grid",    "check",        "space",
      "types",     "pattern", "per_sequence", "learned",
      "select",    "streams", "tiles",        "constant_inputs"};
  return known;
}

} // namespace tessera::language
