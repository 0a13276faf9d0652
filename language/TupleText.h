// language/TupleText.h - tuples in hints and on command lines.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
//   Rows(*fp32:16, i32:16, 1)    values in the order of the fields
//   Rows(ptr=*fp32:16, head=1)   values by name
//   (*fp32:16, (i32, None))      a plain tuple, with a tuple in it
#pragma once

#include "language/SignatureTuples.h"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::language {

// Splits at commas that are not inside brackets or quotes. Spaces around the
// parts are left out, and so is an empty last part.
std::vector<std::string> splitOutsideBrackets(std::string_view text,
                                              char separator = ',');

// Whether the text is a tuple.
bool isTupleText(std::string_view text);

// Adds what `leaf` returns for the text of each leaf. Throws Error as
// addLeaves() does, and for another class than the parameter's.
void addLeavesOfText(const Signature &signature, const TupleParameter &tuple,
                     std::string_view text,
                     const std::function<Value(const std::string &)> &leaf,
                     std::map<std::string, Value> &leaves);

} // namespace tessera::language
