// language/Evaluate.h - evaluates expressions of decorators, constants and
// defaults.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Tree.h"
#include "language/Value.h"
#include "support/Diagnostics.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace tessera::language {

// The names visible to an expression. Python's builtins (min, len, True, float
// ...) need not be among them.
class Scope {
public:
  virtual ~Scope() = default;
  // Returns the value of a name; nullopt for an unknown name. Throws
  // CompileError if the name is known but does not have a value.
  virtual std::optional<Value> find(std::string_view name) const = 0;
};

class MapScope : public Scope {
public:
  MapScope() = default;
  explicit MapScope(std::map<std::string, Value, std::less<>> values,
                    std::shared_ptr<const Scope> parent = nullptr)
      : values(std::move(values)), parent(std::move(parent)) {}
  std::optional<Value> find(std::string_view name) const override;

  std::map<std::string, Value, std::less<>> values;
  std::shared_ptr<const Scope> parent;
};

// Returns the value that Python would compute. Throws CompileError with a
// location in `file`.
Value evaluate(const Expr &expr, std::shared_ptr<const Scope> scope,
               std::shared_ptr<const SourceFile> file);

// Calls a function value, for example a heuristic with its dict of arguments.
Value call(const Value &function, const std::vector<Value> &arguments,
           std::shared_ptr<const SourceFile> file);

} // namespace tessera::language
