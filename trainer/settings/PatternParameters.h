// trainer/settings/PatternParameters.h - reads and compares the parameters of
// an attention pattern.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/launch/PatternFile.h"

#include <string>
#include <utility>
#include <vector>

namespace tessera::trainer {

/// Names and values as the user wrote them.
using ParameterTexts = std::vector<std::pair<std::string, std::string>>;

/// Splits a list at `separator` and removes spaces around the items. Keeps
/// empty items; an empty text is one empty item.
std::vector<std::string> splitList(const std::string &text, char separator);

/// Reads "window=8, first=4", also with colons. Throws tessera::Error, which
/// names `setting`, if an item has no value, a value is in quotation marks, or
/// a name occurs twice.
ParameterTexts readParameters(const std::string &text,
                              const char *setting = "attention_params");

/// Returns every parameter of the pattern with its value in `given`, else its
/// default, as "window=8, first=4, cap=30.0". Parameters have the order of the
/// file and the types of the defaults. Ignores names that the pattern does not
/// have. Throws tessera::Error if a value has another type.
std::string completeParameters(const runtime::PatternFile &pattern,
                               const ParameterTexts &given);

/// True if both texts have the same names and values, in any order and spelling
/// (30 is 30.0).
bool sameParameters(const std::string &one, const std::string &other);

} // namespace tessera::trainer
