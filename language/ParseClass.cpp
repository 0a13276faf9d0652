// language/ParseClass.cpp - parses the classes that make tuples with named
// fields.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/ParserImpl.h"

namespace tessera::language {

// `self.x = value` in `__init__` sets the variable "self.x", a name that
// source text cannot spell.
static void nameFields(Block &block, const std::string &self) {
  for (const StmtPtr &stmt : block) {
    if (auto *branch = stmt->as<If>()) {
      nameFields(branch->body, self);
      nameFields(branch->orelse, self);
      continue;
    }
    auto *assign = stmt->as<Assign>();
    if (!assign)
      continue;
    for (ExprPtr &target : assign->targets) {
      const auto *field = target->as<Attribute>();
      const auto *object = field ? field->value->as<Name>() : nullptr;
      if (!object || object->id != self)
        continue;
      auto name = std::make_unique<Name>(target->range);
      name->id = self + "." + field->attribute;
      target = std::move(name);
    }
  }
}

// Parses `__init__` of an aggregate as kernel code, in which assignments to
// attributes of the object set its fields.
void Parser::parseInit(FunctionDef &node, const SourceRange &start) {
  node.isJit = true;
  const size_t parenthesis = position + 1;
  if (at("(") && list.tokens[parenthesis].kind == TokenKind::Name)
    initSelf = std::string(list.tokens[parenthesis].text);
  try {
    parseKernel(node, start);
  } catch (...) {
    initSelf.clear();
    throw;
  }
  nameFields(node.body, initSelf);
  initSelf.clear();
}

// Moves fields and methods into the class. Returns false for other contents.
bool Parser::takeMembers(FunctionDef &node, Block members) {
  node.docstring = takeDocstring(members);
  for (StmtPtr &member : members) {
    if (member->is<Pass>())
      continue;
    if (auto *method = member->as<FunctionDef>()) {
      // Other functions are code around kernels.
      if (method->isJit || method->isConstexpr) {
        (void)member.release();
        node.methods.emplace_back(method);
      }
      continue;
    }
    auto *field = member->as<AnnAssign>();
    auto *target = field ? field->target->as<Name>() : nullptr;
    if (!target)
      return false;
    Parameter parameter;
    parameter.name = target->id;
    parameter.range = target->range;
    parameter.annotation = std::move(field->annotation);
    parameter.isConstexpr =
        node.isAggregate &&
        endsWithName(parameter.annotation.get(), "constexpr");
    parameter.defaultValue = std::move(field->value);
    node.parameters.push_back(std::move(parameter));
  }
  return !node.parameters.empty();
}

// Parses class NAME(NamedTuple), or a class without base under
// triton.aggregate, whose body has fields and functions. Returns false without
// a report for another class or other contents.
bool Parser::parseClass(Block &block, bool isAggregate) {
  const size_t first = position, reported = list.diagnostics.size();
  SourceRange start = next().range;
  auto node = std::make_unique<FunctionDef>();
  node->file = file;
  node->isNamedTuple = true;
  node->isAggregate = isAggregate;
  try {
    const Token &name = expectName("the class");
    node->name = std::string(name.text);
    node->nameRange = name.range;
    ExprPtr base;
    if (!isAggregate) {
      expect("(", "the class");
      base = parseExpression();
      expect(")", "the base class");
    }
    node->range = since(start);
    Block members;
    if (isAggregate || endsWithName(base.get(), "NamedTuple")) {
      inAggregate = isAggregate;
      parseSuite(members, "the class");
    }
    inAggregate = false;
    if (takeMembers(*node, std::move(members)) &&
        list.diagnostics.size() == reported) {
      if (!node->methods.empty())
        findNestedKernels(first, position);
      block.push_back(std::move(node));
      return true;
    }
  } catch (const Recover &) {
  }
  inAggregate = false;
  list.diagnostics.erase(list.diagnostics.begin() + ptrdiff_t(reported),
                         list.diagnostics.end());
  position = first;
  return false;
}

} // namespace tessera::language
