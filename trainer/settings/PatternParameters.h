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

/// Names and values as they were written.
using ParameterTexts = std::vector<std::pair<std::string, std::string>>;

/// Splits a list at `separator` and removes spaces around the items. Empty
/// items stay; an empty text is one empty item.
std::vector<std::string> splitList(const std::string &text, char separator);

/// Reads "window=8, first=4", also with colons. Throws tessera::Error, with the
/// name of the setting, for an item without a value, for a value in quotation
/// marks and for a name that occurs twice.
ParameterTexts readParameters(const std::string &text,
                              const char *setting = "attention_params");

/// Returns every parameter of the pattern with the value that `given` or the
/// file gives it, in the order of the file and with the type of the default:
/// "window=8, first=4, cap=30.0". Ignores names that the pattern does not
/// have. Throws tessera::Error for a value of another type.
std::string completeParameters(const runtime::PatternFile &pattern,
                               const ParameterTexts &given);

/// True if both give the same names the same values in any order and spelling:
/// 30 is 30.0.
bool sameParameters(const std::string &one, const std::string &other);

} // namespace tessera::trainer
