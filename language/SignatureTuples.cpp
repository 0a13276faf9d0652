// language/SignatureTuples.cpp - expands parameters that are tuples to leaves.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/SignatureTuples.h"

#include "language/Parser.h"
#include "support/Error.h"
#include "support/Names.h"

#include <algorithm>

namespace tessera::language {

namespace {

constexpr unsigned deepestTuple = 8;

// Returns the last part of a name: "constexpr" of tl.constexpr, "tuple" of
// tuple.
std::string lastName(const Expr &expr) {
  if (const auto *name = expr.as<Name>())
    return name->id;
  if (const auto *attribute = expr.as<Attribute>())
    return attribute->attribute;
  return "";
}

// Returns the types in tuple[...]; nullopt for any other annotation.
std::optional<std::vector<const Expr *>> typesOf(const Expr &annotation) {
  const auto *subscript = annotation.as<Subscript>();
  if (!subscript || (lastName(*subscript->value) != "tuple" &&
                     lastName(*subscript->value) != "Tuple"))
    return std::nullopt;
  std::vector<const Expr *> types;
  if (const auto *several = subscript->index->as<TupleExpr>())
    for (const ExprPtr &type : several->elements)
      types.push_back(type.get());
  else
    types.push_back(subscript->index.get());
  return types;
}

// Returns the rank in tl.tensor_descriptor[RANK]; nullopt for any other
// annotation.
std::optional<int> descriptorRank(const Expr &annotation) {
  const auto *subscript = annotation.as<Subscript>();
  if (!subscript || lastName(*subscript->value) != "tensor_descriptor")
    return std::nullopt;
  const auto *rank = subscript->index->as<Constant>();
  const std::optional<Int> number = rank ? rank->value.asInt() : std::nullopt;
  // 0 is not a rank: LeafMaker refuses it.
  return number && *number >= 1 && *number <= 5 ? int(*number) : 0;
}

// Appends the leaves of one parameter.
class LeafMaker {
public:
  LeafMaker(const Program &program, const FunctionDef &kernel,
            const Parameter &node, Signature &signature)
      : program(program), kernel(kernel), node(node), signature(signature) {}

  // True if the annotation is the type of a tuple.
  bool isTuple(const FunctionDef &from, const Expr *annotation) const {
    const ExprPtr quoted = annotation ? quotedAnnotation(*annotation) : nullptr;
    if (quoted)
      annotation = quoted.get();
    return annotation && (typesOf(*annotation) || descriptorRank(*annotation) ||
                          classOf(from, *annotation));
  }

  // Appends the leaves of a value with the annotation, which is in the file of
  // `from`. `owner`: the class whose field it is.
  void add(const std::string &name, const FunctionDef &from,
           const Expr *annotation, const Parameter *field, unsigned depth) {
    if (depth > deepestTuple)
      fail("`" + node.name + "` has tuples inside each other over " +
               std::to_string(deepestTuple) + " levels",
           "pass the inner values in a tuple for themselves");
    const ExprPtr quoted = annotation ? quotedAnnotation(*annotation) : nullptr;
    if (quoted)
      annotation = quoted.get();
    if (const auto types = annotation ? typesOf(*annotation) : std::nullopt)
      return addPlain(name, from, *types, depth);
    if (const auto rank =
            annotation ? descriptorRank(*annotation) : std::nullopt)
      return addDescriptor(name, *rank);
    if (const FunctionDef *fields =
            annotation ? classOf(from, *annotation) : nullptr)
      return addNamed(name, *fields, depth);
    KernelParameter leaf;
    leaf.name = name;
    leaf.isConstexpr = annotation && lastName(*annotation) == "constexpr";
    leaf.range = node.range;
    if (field && field->defaultValue) {
      leaf.hasDefault = true;
      leaf.defaultValue =
          evaluate(*field->defaultValue, program.scope(from), from.file);
    }
    append(std::move(leaf));
  }

private:
  [[noreturn]] void fail(std::string message, std::string hint) const {
    throw CompileError(
        {Diagnostic::make(DiagnosticId::BadSignature, kernel.file, node.range,
                          std::move(message), std::move(hint))});
  }

  // Returns the NamedTuple that an annotation names; null if it names none.
  const FunctionDef *classOf(const FunctionDef &from,
                             const Expr &annotation) const {
    const auto *name = annotation.as<Name>();
    if (!name)
      return nullptr;
    try {
      const auto symbol = program.lookup(from, name->id);
      return symbol && symbol->function && symbol->function->isNamedTuple
                 ? symbol->function
                 : nullptr;
    } catch (const CompileError &) { // reported where the name is used
      return nullptr;
    }
  }

  void append(KernelParameter leaf) {
    if (signature.parameters.size() >= mostLeaves)
      fail("kernel `" + kernel.name + "` takes more than " +
               std::to_string(mostLeaves) +
               " values, those in tuples counted one by one",
           "pass fewer, for example as elements of a tensor");
    signature.parameters.push_back(std::move(leaf));
  }

  // Appends a constexpr leaf for a tuple without values.
  void addEmpty(const std::string &name) {
    KernelParameter leaf;
    leaf.name = name;
    leaf.isConstexpr = true;
    leaf.hasDefault = true;
    leaf.defaultValue = Value(Value::Tuple{});
    leaf.range = node.range;
    append(std::move(leaf));
  }

  void addPlain(const std::string &name, const FunctionDef &from,
                const std::vector<const Expr *> &types, unsigned depth) {
    if (types.empty())
      return addEmpty(name);
    TupleParameter tuple{name, "", {}, false};
    for (size_t i = 0; i < types.size(); ++i)
      tuple.fields.push_back(std::to_string(i));
    signature.tuples.push_back(std::move(tuple));
    for (size_t i = 0; i < types.size(); ++i)
      add(name + "." + std::to_string(i), from, types[i], nullptr, depth + 1);
  }

  void addLeaf(const std::string &name, const std::string &declared) {
    KernelParameter leaf;
    leaf.name = name;
    leaf.declared = declared;
    leaf.range = node.range;
    append(std::move(leaf));
  }

  void addConstexpr(const std::string &name, std::optional<Value> byDefault) {
    KernelParameter leaf;
    leaf.name = name;
    leaf.isConstexpr = true;
    leaf.hasDefault = byDefault.has_value();
    if (byDefault)
      leaf.defaultValue = std::move(*byDefault);
    leaf.range = node.range;
    append(std::move(leaf));
  }

  // Sizes are int32 and strides int64, as in Triton.
  void addDescriptor(const std::string &name, int rank) {
    if (rank == 0)
      fail("the annotation of `" + node.name +
               "` is not a descriptor of 1 to 5 dimensions",
           "write the number of dimensions: tl.tensor_descriptor[2]");
    signature.tuples.push_back({name,
                                "tensor_descriptor",
                                {"base", "shape", "strides", "block_shape",
                                 "padding", "round_f32_to_tf32"},
                                true});
    std::vector<std::string> dimensions;
    for (int i = 0; i < rank; ++i)
      dimensions.push_back(std::to_string(i));
    for (const char *part : {".shape", ".strides", ".block_shape"})
      signature.tuples.push_back({name + part, "", dimensions, false});
    const std::string last = dimensions.back();
    addLeaf(name + ".base", "");
    for (const std::string &dimension : dimensions)
      addLeaf(name + ".shape." + dimension, "i32");
    for (const std::string &dimension : dimensions)
      if (dimension != last)
        addLeaf(name + ".strides." + dimension, "i64");
    addConstexpr(name + ".strides." + last, Value(1));
    for (const std::string &dimension : dimensions)
      addConstexpr(name + ".block_shape." + dimension, std::nullopt);
    addConstexpr(name + ".padding", Value(std::string("zero")));
    addConstexpr(name + ".round_f32_to_tf32", Value(false));
  }

  void addNamed(const std::string &name, const FunctionDef &fields,
                unsigned depth) {
    TupleParameter tuple{name, fields.name, {}, false};
    for (const Parameter &field : fields.parameters)
      tuple.fields.push_back(field.name);
    signature.tuples.push_back(std::move(tuple));
    for (const Parameter &field : fields.parameters)
      add(name + "." + field.name, fields, field.annotation.get(), &field,
          depth + 1);
  }

  const Program &program;
  const FunctionDef &kernel;
  const Parameter &node;
  Signature &signature;
};

// True if every leaf of the field has a default.
bool hasDefault(const Signature &signature, const std::string &field) {
  const int index = signature.find(field);
  return index >= 0 && signature.parameters[size_t(index)].hasDefault;
}

// True for `...`, a default that a launch cannot use.
bool isEllipsis(const Value &value) {
  const auto *named = value.get<Value::Named>();
  return named && named->path == "...";
}

} // namespace

ExprPtr quotedAnnotation(const Expr &annotation) {
  const auto *text = annotation.as<Constant>();
  if (!text || !text->value.is<std::string>())
    return nullptr;
  try {
    return parseExpression(std::make_shared<SourceFile>(
        "annotation", *text->value.get<std::string>()));
  } catch (const Error &) { // a type in words
    return nullptr;
  }
}

void addParameter(const Program &program, const FunctionDef &function,
                  const Parameter &node, Signature &signature) {
  LeafMaker maker(program, function, node, signature);
  Value given;
  if (node.defaultValue)
    given =
        evaluate(*node.defaultValue, program.scope(function), function.file);
  const bool noTuple = node.defaultValue && given.isNone();
  if (!noTuple && maker.isTuple(function, node.annotation.get())) {
    maker.add(node.name, function, node.annotation.get(), nullptr, 0);
    if (!node.defaultValue || isEllipsis(given))
      return;
    const TupleParameter *tuple = signature.findTuple(node.name);
    std::map<std::string, Value> leaves;
    if (tuple)
      addLeaves(signature, *tuple, given, leaves);
    for (auto &[name, value] : leaves) {
      KernelParameter &leaf =
          signature.parameters[size_t(signature.find(name))];
      leaf.hasDefault = true;
      leaf.defaultValue = value;
    }
    return;
  }
  KernelParameter parameter;
  parameter.name = node.name;
  parameter.isConstexpr = node.isConstexpr;
  if (node.annotation && !node.isConstexpr) {
    const ExprPtr quoted = quotedAnnotation(*node.annotation);
    parameter.declared =
        declaredElement(lastName(quoted ? *quoted : *node.annotation));
  }
  parameter.range = node.range;
  parameter.hasDefault = node.defaultValue != nullptr;
  parameter.defaultValue = std::move(given);
  signature.parameters.push_back(std::move(parameter));
}

std::vector<std::string> descriptorsOf(const Program &program,
                                       const FunctionDef &function,
                                       const Parameter &node) {
  Signature signature;
  LeafMaker maker(program, function, node, signature);
  if (maker.isTuple(function, node.annotation.get()))
    maker.add(node.name, function, node.annotation.get(), nullptr, 0);
  std::vector<std::string> names;
  for (const TupleParameter &tuple : signature.tuples)
    if (tuple.isDescriptor)
      names.push_back(tuple.name);
  return names;
}

std::string formOf(const TupleParameter &tuple) {
  std::string text;
  for (const std::string &field : tuple.fields)
    text += (text.empty() ? "" : ", ") + (tuple.type.empty() ? "..." : field);
  return tuple.type + "(" + text +
         (tuple.type.empty() && tuple.fields.size() == 1 ? ",)" : ")");
}

static void addField(const Signature &signature, const std::string &field,
                     const Value &value, std::map<std::string, Value> &leaves) {
  if (const TupleParameter *inner = signature.findTuple(field))
    addLeaves(signature, *inner, value, leaves);
  else
    leaves[field] = value;
}

void addLeaves(const Signature &signature, const TupleParameter &tuple,
               const Value &value, std::map<std::string, Value> &leaves) {
  const std::vector<Value> *items = value.sequence();
  const std::string count = std::to_string(tuple.fields.size());
  if (!items)
    throw Error("`" + tuple.name + "` is a tuple of " + count +
                    " values, and " + value.repr() + " is given",
                "give the values as " + formOf(tuple) +
                    (value.isNone() ? "; each of them may be None" : ""));
  const auto *named = value.get<Value::Tuple>();
  if (named && !named->names.empty() && !tuple.type.empty()) {
    for (size_t i = 0; i < items->size(); ++i) {
      const std::string &name = named->names[i];
      if (std::find(tuple.fields.begin(), tuple.fields.end(), name) ==
          tuple.fields.end())
        throw Error("`" + tuple.name + "` has no field `" + name + "`",
                    nearestNameHint(name, tuple.fields, "fields"));
      addField(signature, tuple.name + "." + name, (*items)[i], leaves);
    }
  } else {
    for (size_t i = 0; i < std::min(items->size(), tuple.fields.size()); ++i)
      addField(signature, tuple.name + "." + tuple.fields[i], (*items)[i],
               leaves);
  }
  size_t missing = 0;
  for (const std::string &field : tuple.fields) {
    const std::string leaf = tuple.name + "." + field;
    missing += !signature.findTuple(leaf) && !leaves.contains(leaf) &&
               !hasDefault(signature, leaf);
  }
  const bool tooMany = items->size() > tuple.fields.size();
  const bool lessThanTuples =
      items->size() < tuple.fields.size() &&
      std::any_of(
          tuple.fields.begin() + ptrdiff_t(items->size()), tuple.fields.end(),
          [&](const std::string &field) {
            return signature.findTuple(tuple.name + "." + field);
          });
  if (tooMany || lessThanTuples || missing)
    throw Error("`" + tuple.name + "` is a tuple of " + count +
                    " values, and " + std::to_string(items->size()) +
                    " are given",
                "give the values as " + formOf(tuple));
}

Value tupleOfLeaves(const Signature &signature, const TupleParameter &tuple,
                    const std::function<Value(const std::string &)> &leaf) {
  Value::Tuple result;
  if (!tuple.type.empty())
    result.names = tuple.fields;
  for (const std::string &field : tuple.fields) {
    const std::string name = tuple.name + "." + field;
    const TupleParameter *inner = signature.findTuple(name);
    result.items.push_back(inner ? tupleOfLeaves(signature, *inner, leaf)
                                 : leaf(name));
  }
  return result;
}

} // namespace tessera::language
