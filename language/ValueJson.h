// language/ValueJson.h - compile-time values in JSON, without loss.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// None, bools, finite floats, integers of 64 bits and strings are the JSON
// values of the same name; the rest is an object with one member:
// {"float": "inf"}, {"int": "1208925819614629174706176"}, {"dtype": "fp32"},
// {"tuple": [...]}, {"list": [...]}, {"namedtuple": [["NAME", ...], ...]},
// {"function": "NAME"} or {"function": "FILE:NAME"}.
#pragma once

#include "language/Value.h"
#include "support/Json.h"

namespace tessera::language {

// Throws Error for lambdas, dicts and other values that are not constexprs.
Json toJson(const Value &value);
// Throws Error on anything else than the above. `what` names the document.
Value valueFromJson(const Json &json, const std::string &what);

} // namespace tessera::language
