// language/TupleText.h - parses tuples in hints and on command lines.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// The text of a tuple has one of these forms:
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

// Splits at separators outside of brackets and quotes. Trims the parts and
// drops an empty last part.
std::vector<std::string> splitOutsideBrackets(std::string_view text,
                                              char separator = ',');

// True if the text has the form of a tuple.
bool isTupleText(std::string_view text);

// Adds the value that `leaf` returns for the text of each leaf. Throws Error as
// addLeaves() does, and if the class is not the parameter's.
void addLeavesOfText(const Signature &signature, const TupleParameter &tuple,
                     std::string_view text,
                     const std::function<Value(const std::string &)> &leaf,
                     std::map<std::string, Value> &leaves);

} // namespace tessera::language
