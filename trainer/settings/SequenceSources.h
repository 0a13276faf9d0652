// trainer/settings/SequenceSources.h - sources of the per-sequence values that
// patterns read (attention.per_sequence).
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::trainer {

/// The name of the value that counts tokens without a loss: a query of a prefix
/// attends to the token that it predicts.
constexpr const char *prefixName = "prefix";

/// The source of one value of each sequence.
struct SequenceSource {
  enum class Kind {
    Number,  ///< `number`, of every sequence.
    Before,  ///< The tokens before the first token `number`; 0 without one.
    Through, ///< The same and that token; 0 without one.
    Uniform, ///< Drawn from 1 to the tokens before the last target.
  };
  std::string name; ///< As the file of the pattern spells it.
  Kind kind = Kind::Number;
  int64_t number = 0;
};

/// Reads "prefix=through(10), width=64", also with colons. Throws
/// tessera::Error for an item without a value, a name that occurs twice and a
/// value of another form.
std::vector<SequenceSource> readSequenceSources(const std::string &text);

/// Returns the sources in the one spelling that is stored.
std::string sourcesText(const std::vector<SequenceSource> &sources);

} // namespace tessera::trainer
