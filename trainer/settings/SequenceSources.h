// trainer/settings/SequenceSources.h - sources of the per-sequence values that
// patterns read (attention.per_sequence).
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::trainer {

/// The name of the value that is the length of a sequence's prefix. The loss
/// ignores the targets inside the prefix, because a query of the prefix attends
/// to the token that it would predict.
constexpr const char *prefixName = "prefix";

/// Defines how one value of each sequence is computed.
struct SequenceSource {
  enum class Kind {
    Number,  ///< `number` for every sequence.
    Before,  ///< Number of tokens before the first token `number`; 0 without
             ///< one.
    Through, ///< Before + 1; 0 without such a token.
    Uniform, ///< Drawn from 1 to the number of tokens before the last target.
  };
  std::string name; ///< Name in the file of the pattern.
  Kind kind = Kind::Number;
  int64_t number = 0;
};

/// Reads "prefix=through(10), width=64", also with colons. Throws
/// tessera::Error if an item has no value, a name occurs twice, or a value has
/// another form.
std::vector<SequenceSource> readSequenceSources(const std::string &text);

/// Returns the sources in canonical spelling, which checkpoints store.
std::string sourcesText(const std::vector<SequenceSource> &sources);

} // namespace tessera::trainer
