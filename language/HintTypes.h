// language/HintTypes.h - reads the hint types(...), which all instances share.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Signature.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::language {

// # tessera: types("Q K V: *T:16", "CU: *i32:16", "s*: i32:16", "scale: fp32")
// # tessera: types("q k: Rows(*T:16, i32:16, 1)", "*.token: i32:16")
//
// The hint gives the types of parameters that are not constexprs, once for all
// instances of a kernel. An entry has names, a colon, and either an argument
// class, as in an instance, or an integer that is the parameter's value. `s*`
// matches parameters that start with s, `*h` those that end with h, unless
// another entry names them. A tuple has the types of its values in brackets, or
// entries for its leaves, such as q.token. An element that is not a type, such
// as T, is a variable; each instance gives its type: instance f32(T="fp32",
// D=64).
class HintTypes {
public:
  // Adds an entry. Throws Error if it is malformed.
  void add(const Signature &signature, const std::string &entry);
  // Matches entries to parameters, after the last entry was added. Throws Error
  // if a parameter has two types or a pattern matches no parameter.
  void resolve(const Signature &signature);

  bool isVariable(const std::string &name) const {
    return variables.count(name) != 0;
  }
  std::vector<std::string> variableNames() const;

  // Returns the value that an instance passes for a parameter, given the types
  // of its variables; nullopt if no entry matches the parameter. Throws Error
  // for a variable that the instance `instance` does not give.
  std::optional<Value>
  valueOf(const std::string &parameter,
          const std::map<std::string, std::string> &elements,
          const std::string &instance) const;

private:
  struct Type {
    std::string text;              // "*T:16", "i32", "1"
    std::string variable;          // T, "" for none
    std::optional<Value> constant; // an integer, None, True or False
  };
  struct Pattern {
    std::string text; // "s*"
    Type type;

    bool matches(std::string_view name) const;
  };

  Type typeOf(const Signature &signature, std::string_view text);
  void set(const std::string &name, const Type &type);
  void addTuple(const Signature &signature, const TupleParameter &tuple,
                const std::string &text);
  void addName(const Signature &signature, const std::string &name,
               const std::string &text);

  std::map<std::string, Type> types; // key: parameter
  std::vector<Pattern> patterns;
  std::map<std::string, int> variables;
};

} // namespace tessera::language
