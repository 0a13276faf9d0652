// tools/compile/ExampleTypes.cpp - suggests types for a kernel that does not
// declare any.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/ExampleTypes.h"

#include "language/SignatureTuples.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

namespace tessera::tools {
namespace example_types {

using namespace language;

// Finds the parameters through which a kernel accesses memory.
class AddressUses {
public:
  explicit AddressUses(const FunctionDef &function) {
    for (const Parameter &parameter : function.parameters)
      parameters.insert(parameter.name);
    block(function.body);
  }

  std::set<std::string> pointers;

private:
  // Returns the base name of an address: X for X + a * b, (X + a)[:, None] and
  // X.to(...).
  static std::string baseOf(const Expr *expr) {
    while (expr) {
      if (const auto *name = expr->as<Name>())
        return name->id;
      if (const auto *sum = expr->as<BinOp>())
        expr = sum->left.get();
      else if (const auto *index = expr->as<Subscript>())
        expr = index->value.get();
      else if (const auto *call = expr->as<Call>())
        expr = call->function->is<Attribute>() ? call->function.get() : nullptr;
      else if (const auto *member = expr->as<Attribute>())
        expr = member->value.get();
      else
        return "";
    }
    return "";
  }

  static bool accessesMemory(const std::string &name) {
    return name == "load" || name == "store" || name == "make_block_ptr" ||
           name == "make_tensor_descriptor" || name.starts_with("atomic_");
  }

  void mark(std::string name) {
    for (int steps = 0; steps < 20; ++steps) {
      if (parameters.count(name)) {
        pointers.insert(name);
        return;
      }
      auto made = bases.find(name);
      if (made == bases.end() || made->second == name)
        return;
      name = made->second;
    }
  }

  void expr(const Expr *node) {
    const auto *call = node ? node->as<Call>() : nullptr;
    if (!call) {
      if (const auto *sum = node ? node->as<BinOp>() : nullptr) {
        expr(sum->left.get());
        expr(sum->right.get());
      }
      return;
    }
    const auto *member = call->function->as<Attribute>();
    if (member && accessesMemory(member->attribute) && !call->arguments.empty())
      mark(baseOf(call->arguments[0].get()));
    expr(member ? member->value.get() : nullptr);
    for (const ExprPtr &argument : call->arguments)
      expr(argument.get());
    for (const Keyword &keyword : call->keywords)
      expr(keyword.value.get());
  }

  void block(const Block &body) {
    for (const StmtPtr &stmt : body)
      statement(*stmt);
  }

  void statement(const Stmt &stmt) {
    if (const auto *assign = stmt.as<Assign>()) {
      expr(assign->value.get());
      for (const ExprPtr &target : assign->targets)
        if (const auto *name = target->as<Name>())
          bases.emplace(name->id, baseOf(assign->value.get()));
    } else if (const auto *augmented = stmt.as<AugAssign>()) {
      expr(augmented->value.get());
    } else if (const auto *annotated = stmt.as<AnnAssign>()) {
      expr(annotated->value.get());
    } else if (const auto *plain = stmt.as<ExprStmt>()) {
      expr(plain->value.get());
    } else if (const auto *loop = stmt.as<For>()) {
      block(loop->body);
    } else if (const auto *repeat = stmt.as<While>()) {
      block(repeat->body);
    } else if (const auto *branch = stmt.as<If>()) {
      block(branch->body);
      block(branch->orelse);
    } else if (const auto *result = stmt.as<Return>()) {
      expr(result->value.get());
    }
  }

  std::set<std::string> parameters;
  std::map<std::string, std::string> bases; // of variables
};

static bool isNamedLikePointer(const Signature &signature,
                               const std::string &name) {
  const auto saysPointer = [](const std::string &text) {
    return text.find("ptr") != std::string::npos ||
           text.find("PTR") != std::string::npos;
  };
  const auto any = [&](const auto &predicate) {
    return std::any_of(
        signature.parameters.begin(), signature.parameters.end(),
        [&](const KernelParameter &p) { return predicate(p.name); });
  };
  if (saysPointer(name))
    return true;
  if (name.size() != 1 || name[0] < 'A' || name[0] > 'Z' || any(saysPointer))
    return false;
  // K is a matrix if there is a Q, and a size if there is an M.
  if (name == "K")
    return any([](const std::string &other) { return other == "Q"; });
  return std::string("BCDHLMNST").find(name[0]) == std::string::npos;
}

static std::string typeOf(const KernelInfo &kernel, const std::string &name,
                          const std::string &quote) {
  const Signature &signature = kernel.signature;
  const int index = signature.find(name);
  if (index >= 0)
    return signature.parameters[size_t(index)].isConstexpr ? "64"
           : looksLikePointer(kernel, name) ? quote + "*fp32:16" + quote
                                            : quote + "i32" + quote;
  const TupleParameter &tuple = *signature.findTuple(name);
  std::string text;
  for (const std::string &field : tuple.fields)
    text += (text.empty() ? "" : ", ") + typeOf(kernel, name + "." + field, "");
  return quote + tuple.type + "(" + text + ")" + quote;
}

static std::string types(const KernelInfo &kernel, const std::string &quote) {
  std::string text;
  for (const Parameter &parameter : kernel.function->parameters)
    if (!parameter.defaultValue &&
        (kernel.signature.find(parameter.name) >= 0 ||
         kernel.signature.findTuple(parameter.name)))
      text += (text.empty() ? "" : ", ") + parameter.name + "=" +
              typeOf(kernel, parameter.name, quote);
  return text;
}

} // namespace example_types

bool looksLikePointer(const language::KernelInfo &kernel,
                      const std::string &name) {
  return example_types::AddressUses(*kernel.function).pointers.count(name) ||
         example_types::isNamedLikePointer(kernel.signature, name);
}

std::string exampleSignature(const language::KernelInfo &kernel) {
  return example_types::types(kernel, "");
}

std::string exampleInstance(const language::KernelInfo &kernel) {
  return example_types::types(kernel, "\"");
}

} // namespace tessera::tools
