// compiler/semantics/Statements.cpp - lowers assignments, returns and blocks.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Lowering.h"

namespace tessera::semantics {

bool Lowering::containsReturn(const language::Block &block) {
  for (const language::StmtPtr &stmt : block)
    if (containsReturn(*stmt))
      return true;
  return false;
}

bool Lowering::containsReturn(const language::Stmt &stmt) {
  if (stmt.is<language::Return>())
    return true;
  if (auto *branch = stmt.as<language::If>())
    return containsReturn(branch->body) || containsReturn(branch->orelse);
  if (auto *loop = stmt.as<language::For>())
    return containsReturn(loop->body);
  if (auto *loop = stmt.as<language::While>())
    return containsReturn(loop->body);
  return false;
}

// Runs statements up to a return or the end of the function. An `if` that may
// return takes all statements after it into its arms, so that control flow
// stays structured.
Lowering::Outcome Lowering::run(Rest rest) {
  while (rest.block) {
    if (rest.next == rest.block->size()) {
      rest = rest.after ? *rest.after : Rest{};
      continue;
    }
    const language::Stmt &stmt = *(*rest.block)[rest.next++];
    At at(*this, stmt.range);
    if (auto *result = stmt.as<language::Return>()) {
      if (frame().loopDepth)
        fail(DiagnosticId::BadReturn, stmt.range,
             "`return` inside a loop is not supported",
             "guard the rest of the body with `if` instead");
      // As in Triton, a returned number is a run-time value. The constexprs in
      // a returned tuple stay constexprs until they are assigned to names.
      Value value = result->value ? evaluate(*result->value) : Value::none();
      if (!value.members())
        value = materialize(value);
      return {true, value, stmt.range};
    }
    auto *branch = stmt.as<language::If>();
    if (!branch || !containsReturn(stmt)) {
      visit(stmt);
      continue;
    }
    Condition test = condition(*branch->test, "if");
    if (!test.known)
      return branchWithReturn(*branch, test, rest);
    return run({*test.known ? &branch->body : &branch->orelse, 0, &rest});
  }
  return {};
}

void Lowering::visitBlock(const language::Block &block) {
  for (const language::StmtPtr &stmt : block) {
    At at(*this, stmt->range);
    if (stmt->is<language::Return>())
      fail(DiagnosticId::BadReturn, stmt->range,
           "`return` inside a loop is not supported",
           "guard the rest of the body with `if` instead");
    visit(*stmt);
  }
}

// True for the variable "self.x" of `__init__`, which is Python in Triton: it
// keeps compile-time values.
static bool isField(const language::Expr &target) {
  const auto *name = target.as<language::Name>();
  return name && name->id.find('.') != std::string::npos;
}

// Makes a Python number that is assigned to a name a run-time value, as in
// Triton. `name: tl.constexpr = ...` keeps it, and so does such a field of an
// aggregate.
Value Lowering::materialize(const Value &value) {
  if (frame().compileTime)
    return value;
  if (auto *constant = value.constant(); constant && constant->isNumber())
    return emit.toTensor(value);
  if (auto *values = value.members()) {
    const language::FunctionDef *fields = value.tupleFields();
    std::vector<Value> items;
    for (size_t i = 0; i < values->size(); ++i) {
      const bool keep =
          fields && fields->isAggregate && fields->parameters[i].isConstexpr;
      items.push_back(keep ? (*values)[i] : materialize((*values)[i]));
    }
    return Value::tupleLike(value, std::move(items));
  }
  return value;
}

void Lowering::assignName(const std::string &name, Value value,
                          SourceRange where) {
  if (value.range())
    fail(DiagnosticId::BadLoop, where, "a range only goes after `for ... in`",
         "write for i in range(n)");
  if (values)
    values->add(frame().file, where, value);
  if (elements && value.isDynamic())
    value = spread(value);
  frame().scope[name] = {std::move(value), where};
  frame().lost.erase(name);
}

void Lowering::assign(const language::Expr &target, Value value) {
  if (auto *name = target.as<language::Name>()) {
    assignName(name->id, std::move(value), target.range);
    return;
  }
  const std::vector<language::ExprPtr> *elements = nullptr;
  if (auto *tuple = target.as<language::TupleExpr>())
    elements = &tuple->elements;
  else if (auto *list = target.as<language::ListExpr>())
    elements = &list->elements;
  if (!elements)
    fail(DiagnosticId::NotSupported, target.range,
         target.is<language::Subscript>()
             ? "elements of a block cannot be assigned"
             : "only names can be assigned",
         target.is<language::Subscript>()
             ? "make a new block with tl.where, or write memory with tl.store"
             : "");
  auto *values = value.tupleValues();
  if (!values)
    fail(DiagnosticId::BadUnpacking, target.range,
         "cannot unpack " + value.describe() + " into " +
             std::to_string(elements->size()) + " names",
         value.tensor()      ? "it is one value: give it one name"
         : value.aggregate() ? fieldsHint(value, "value")
                             : "only tuples can be taken apart");
  if (values->size() != elements->size())
    fail(DiagnosticId::BadUnpacking, target.range,
         "cannot unpack " + std::to_string(values->size()) + " values into " +
             std::to_string(elements->size()) + " names",
         "write one name for each value; _ takes what is not needed");
  std::vector<Value> items = *values;
  for (size_t i = 0; i < items.size(); ++i)
    assign(*(*elements)[i], items[i]);
}

void Lowering::visitAnnAssign(const language::AnnAssign &stmt) {
  if (!stmt.value)
    return;
  Value annotation;
  bool keep = false;
  if (auto *attribute = stmt.annotation->as<language::Attribute>())
    keep = attribute->attribute == "constexpr";
  else if (auto *name = stmt.annotation->as<language::Name>())
    keep = name->id == "constexpr";
  // `x: tl.constexpr = n` keeps a run-time value as it is, as in Triton.
  Value value = evaluate(*stmt.value);
  assign(*stmt.target, keep ? value : materialize(value));
}

// Lowers `assert` as tl.device_assert, as Triton does.
void Lowering::visitAssert(const language::Assert &stmt) {
  std::vector<Argument> given{{"", evaluate(*stmt.test), stmt.test->range}};
  if (stmt.message)
    given.push_back({"", evaluate(*stmt.message), stmt.message->range});
  const Builtin &builtin = *Registry::get().find("device_assert");
  BuiltinCall bound(emit, builtin, std::move(given));
  builtin.emit(bound);
}

// Fails the compilation at a `raise` that the visitor reaches. The visitor does
// not visit an arm whose condition is known to be false.
void Lowering::visitRaise(const language::Raise &stmt) {
  std::string text = "`raise` is reached";
  auto *error = stmt.value ? stmt.value->as<language::Call>() : nullptr;
  const language::Expr *kind = error ? error->function.get() : stmt.value.get();
  if (auto *name = kind ? kind->as<language::Name>() : nullptr)
    text = name->id;
  if (error && !error->arguments.empty()) {
    const language::Expr &argument = *error->arguments[0];
    if (argument.is<language::Constant>() || argument.is<language::JoinedStr>())
      text += ": " + evaluate(argument).constant()->str();
  }
  fail(DiagnosticId::StaticAssert, stmt.range, text,
       "the kernel raises this while it is compiled: change what leads here, "
       "or check values of the launch with tl.device_assert");
}

void Lowering::visit(const language::Stmt &stmt) {
  using language::StmtKind;
  countStep(stmt.range);
  switch (stmt.kind) {
  case StmtKind::Assign: {
    auto &node = stmt.to<language::Assign>();
    const Value value = evaluate(*node.value);
    for (const language::ExprPtr &target : node.targets)
      assign(*target, isField(*target) ? value : materialize(value));
    return;
  }
  case StmtKind::AugAssign: {
    auto &node = stmt.to<language::AugAssign>();
    Value left = evaluate(*node.target), right = evaluate(*node.value);
    if (node.op == BinaryOp::MatMul)
      fail(DiagnosticId::NotSupported, stmt.range, "`@=` is not supported",
           "write tl.dot(" + quote(node.target->range, "a") + ", " +
               quote(node.value->range, "b") + ")");
    assign(*node.target, materialize(binary(node.op, left, right)));
    return;
  }
  case StmtKind::AnnAssign:
    return visitAnnAssign(stmt.to<language::AnnAssign>());
  case StmtKind::For:
    return visitFor(stmt.to<language::For>());
  case StmtKind::While:
    return visitWhile(stmt.to<language::While>());
  case StmtKind::Assert:
    return visitAssert(stmt.to<language::Assert>());
  case StmtKind::Raise:
    visitRaise(stmt.to<language::Raise>());
  case StmtKind::If:
    return visitIf(stmt.to<language::If>());
  case StmtKind::ExprStmt:
    evaluate(*stmt.to<language::ExprStmt>().value);
    return;
  case StmtKind::Pass:
    return;
  case StmtKind::Break:
  case StmtKind::Continue:
    fail(DiagnosticId::NotSupported, stmt.range,
         stmt.is<language::Break>() ? "`break` is not supported"
                                    : "`continue` is not supported",
         "guard the rest of the body with `if` instead");
  case StmtKind::FunctionDef:
    fail(DiagnosticId::NotSupported, stmt.range,
         "functions inside functions are not supported",
         "move it to the top level of the file");
  default:
    fail(DiagnosticId::NotSupported, stmt.range,
         "this statement is not supported inside a kernel");
  }
}

} // namespace tessera::semantics
