// language/Evaluate.h - expressions of decorators, constants and defaults,
// evaluated.
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

// The names an expression sees. Python's own (min, len, True, float ...) need
// not be among them.
class Scope {
public:
  virtual ~Scope() = default;
  // Throws CompileError when the name is known and has no value.
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

// What Python would compute. Throws CompileError with a place in `file`.
Value evaluate(const Expr &expr, std::shared_ptr<const Scope> scope,
               std::shared_ptr<const SourceFile> file);

// Calls a lambda, for example a heuristic with its dict of arguments.
Value call(const Value &function, const std::vector<Value> &arguments,
           std::shared_ptr<const SourceFile> file);

} // namespace tessera::language
