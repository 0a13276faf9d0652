// compiler/semantics/Names.cpp - names, modules, attributes.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Lowering.h"

#include "support/Names.h"

#include <array>

namespace tessera::semantics {
namespace {

// "triton.language.x" and "tl.core.x" are tl.x.
std::string canonical(std::string path) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4>
      kPrefixes{{{"triton.language", "tl"},
                 {"tl.core", "tl"},
                 {"tl.standard", "tl"},
                 {"tl.extra.cuda.libdevice", "tl.extra.libdevice"}}};
  for (auto [from, to] : kPrefixes)
    if (path.compare(0, from.size(), from) == 0 &&
        (path.size() == from.size() || path[from.size()] == '.'))
      path = std::string(to) + path.substr(from.size());
  return path;
}

bool isModule(std::string_view path) {
  for (std::string_view known :
       {"tl", "triton", "tl.math", "tl.extra", "tl.extra.cuda",
        "tl.extra.libdevice", "tl.PropagateNan", "math"})
    if (path == known)
      return true;
  return false;
}

// The registry's name for a member of a module; empty if it has none.
std::string registryName(const std::string &module, const std::string &name) {
  if (module == "tl")
    return name;
  if (module == "tl.math" || module == "tl.extra.libdevice")
    return "math." + name;
  if (module == "triton")
    return "triton." + name;
  return "";
}

// Only these spellings are members of tl; "fp32" is not.
std::optional<DType> dtypeMember(std::string_view name) {
  if (name.substr(0, 2) == "fp" || name == "bf16" ||
      (name.size() > 1 && (name[0] == 'i' || name[0] == 'u') &&
       std::isdigit((unsigned char)name[1])))
    return std::nullopt;
  return parseDType(name);
}

} // namespace

Value Lowering::member(const std::string &parent, const std::string &name,
                       const SourceRange &range) {
  std::string module = canonical(parent);
  std::string path = canonical(module + "." + name);
  if (isModule(path))
    return ModuleRef{path};
  if (module == "tl.PropagateNan" && (name == "ALL" || name == "NONE"))
    return Const("PropagateNan." + name);
  if (module == "tl")
    if (auto dtype = dtypeMember(name))
      return Value::type(Type(*dtype));
  std::string known = registryName(module, name);
  const Builtin *builtin =
      known.empty() ? nullptr : Registry::get().find(known);
  if (builtin)
    return BuiltinRef{builtin, nullptr};
  std::string nearest = known.empty() ? "" : Registry::get().nearest(known);
  fail(DiagnosticId::NotSupported, range,
       "`" + module + "." + name + "` is not supported yet",
       nearest.empty() ? "" : "did you mean `" + module + "." + nearest + "`?");
}

std::optional<Value> Lowering::global(std::string_view name,
                                      const SourceRange &range) {
  if (!frame().function)
    return std::nullopt;
  auto symbol = program.lookup(*frame().function, name);
  if (!symbol)
    return std::nullopt;
  switch (symbol->kind) {
  case syntax::Symbol::Kind::Function:
    return FunctionRef{symbol->function};
  case syntax::Symbol::Kind::Constant:
    return fromSyntax(symbol->value, range);
  case syntax::Symbol::Kind::Library:
    break;
  }
  std::string path = canonical(symbol->path);
  if (isModule(path))
    return ModuleRef{path};
  size_t dot = path.rfind('.');
  if (dot == path.npos)
    return ModuleRef{path};
  return member(path.substr(0, dot), path.substr(dot + 1), range);
}

Value Lowering::lookUp(const syntax::Name &name) {
  if (auto it = frame().scope.find(name.id); it != frame().scope.end())
    return it->second.value;
  if (auto it = frame().lost.find(name.id); it != frame().lost.end())
    fail(DiagnosticId::UnknownName, name.range,
         "`" + name.id + "` may have no value here: " + it->second,
         "assign it before");
  if (auto value = global(name.id, name.range))
    return *value;
  if (auto *builtin = Registry::get().find("python." + name.id))
    return BuiltinRef{builtin, nullptr};
  if (name.id == "abs" || name.id == "sum")
    if (auto *builtin = Registry::get().find(name.id))
      return BuiltinRef{builtin, nullptr};
  std::vector<std::string> known;
  for (const auto &[local, variable] : frame().scope)
    known.push_back(local);
  std::string nearest = nearestName(name.id, known);
  fail(DiagnosticId::UnknownName, name.range,
       "`" + name.id + "` is not defined",
       nearest.empty() ? "" : "did you mean `" + nearest + "`?");
}

Value Lowering::typeAttribute(const Type &type, const syntax::Attribute &expr) {
  const std::string &name = expr.attribute;
  if (name == "element_ty") {
    if (type.isBlock())
      return Value::type(Type(type.element));
    if (type.element.isPointer)
      return Value::type(Type(type.element.dtype));
  }
  if (name == "scalar")
    return Value::type(Type(type.element));
  unsigned bits = type.element.isPointer ? 64 : bitWidth(type.element.dtype);
  if (name == "primitive_bitwidth" ||
      (name == "int_bitwidth" && type.element.isInt()))
    return Value::integer(bits);
  if (name == "itemsize")
    return Value::integer((bits + 7) / 8);
  if (name == "name")
    return Const(toString(type.element));
  if (name == "shape" && type.isBlock()) {
    std::vector<Value> sizes;
    for (int64_t size : type.shape)
      sizes.push_back(Value::integer(size));
    return Value::tuple(std::move(sizes));
  }
  if (auto *builtin = Registry::get().find("dtype." + name))
    return BuiltinRef{builtin, std::make_shared<Value>(Value::type(type))};
  std::string nearest = Registry::get().nearest("dtype." + name);
  fail(DiagnosticId::UnknownAttribute, expr.attributeRange,
       "the type " + toString(type) + " has no attribute `" + name + "`",
       nearest.empty() ? "" : "did you mean `" + nearest + "`?");
}

Value Lowering::attribute(const Value &value, const syntax::Attribute &expr) {
  const std::string &name = expr.attribute;
  if (auto *module = value.as<ModuleRef>())
    return member(module->path, name, expr.range);
  if (auto *constant = value.constant()) {
    if (name == "value")
      return value;
    if (constant->isType())
      return typeAttribute(constant->type(), expr);
  }
  if (auto *tensor = value.tensor()) {
    const Type &type = tensor->type;
    if (name == "dtype")
      return Value::type(Type(type.element));
    if (name == "type")
      return Value::type(type);
    if (name == "numel")
      return Value::integer(type.elements());
    if (name == "shape") {
      std::vector<Value> sizes;
      for (int64_t size : type.shape)
        sizes.push_back(Value::integer(size));
      return Value::tuple(std::move(sizes));
    }
    if (name == "T") {
      if (type.rank() != 2)
        fail(DiagnosticId::ShapeMismatch, expr.range,
             "`.T` needs two dimensions, got " + toString(type),
             "use tl.permute");
      return emit.permute(*tensor, {1, 0});
    }
  }
  // Methods. A number known at compile time has those of a scalar.
  bool number = value.constant() && value.constant()->isNumber();
  if (value.tensor() || value.blockPointer() || number) {
    auto *builtin = Registry::get().find(name);
    if (builtin && builtin->isMethod)
      return BuiltinRef{builtin, std::make_shared<Value>(value)};
  }
  std::vector<std::string> known{"dtype", "shape", "type", "T", "numel"};
  for (const auto &[method, builtin] : Registry::get().all())
    if (builtin.isMethod)
      known.push_back(method);
  fail(DiagnosticId::UnknownAttribute, expr.attributeRange,
       value.describe() + " has no attribute `" + name + "`",
       value.tensor() ? nearestNameHint(name, known, "attributes") : "");
}

} // namespace tessera::semantics
