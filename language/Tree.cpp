// language/Tree.cpp - prints trees, for tests and cache keys.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/Tree.h"

#include <cmath>

namespace tessera::language {

const char *spelling(BinaryOp op) {
  static const char *const text[] = {"+",  "-",  "*", "/", "//", "%", "**",
                                     "<<", ">>", "&", "|", "^",  "@"};
  return text[int(op)];
}
const char *spelling(UnaryOp op) {
  static const char *const text[] = {"-", "+", "not", "~"};
  return text[int(op)];
}
const char *spelling(BoolOpKind op) {
  return op == BoolOpKind::And ? "and" : "or";
}
const char *spelling(CompareOp op) {
  static const char *const text[] = {"==", "!=", "<",      "<=", ">",
                                     ">=", "is", "is not", "in", "not in"};
  return text[int(op)];
}

const FunctionDef *Module::findFunction(std::string_view name) const {
  for (auto stmt = body.rbegin(); stmt != body.rend(); ++stmt)
    if (const auto *function = (*stmt)->as<FunctionDef>();
        function && function->name == name)
      return function;
  return nullptr;
}

static std::string join(const std::vector<ExprPtr> &list) {
  std::string text;
  for (const ExprPtr &expr : list)
    text += (text.empty() ? "" : ", ") + dump(*expr);
  return text;
}

static std::string dumpOptional(const ExprPtr &expr) {
  return expr ? dump(*expr) : "";
}

static std::string dumpCall(const Call &call) {
  std::string text = join(call.arguments);
  for (const Keyword &keyword : call.keywords)
    text += (text.empty() ? "" : ", ") +
            (keyword.name.empty() ? "**" : keyword.name + "=") +
            dump(*keyword.value);
  return dump(*call.function) + "(" + text + ")";
}

static std::string dumpComprehension(const Comprehension &node) {
  std::string text = node.key ? dump(*node.key) + ": " : "";
  text += dump(*node.element);
  for (const ComprehensionClause &clause : node.clauses) {
    text += " for " + dump(*clause.target) + " in " + dump(*clause.iterable);
    for (const ExprPtr &condition : clause.conditions)
      text += " if " + dump(*condition);
  }
  switch (node.form) {
  case ComprehensionKind::List:
    return "[" + text + "]";
  case ComprehensionKind::Generator:
    return "(" + text + ")";
  case ComprehensionKind::Dict:
    break;
  }
  return "{" + text + "}";
}

static std::string dumpDict(const DictExpr &dict) {
  std::string text;
  for (size_t i = 0; i < dict.values.size(); ++i)
    text += (i ? ", " : "") +
            (dict.keys[i] ? dump(*dict.keys[i]) + ": " : std::string("**")) +
            dump(*dict.values[i]);
  return "{" + text + "}";
}

static std::string dumpSlice(const Slice &slice) {
  std::string text =
      dumpOptional(slice.lower) + ":" + dumpOptional(slice.upper);
  return slice.step ? text + ":" + dump(*slice.step) : text;
}

// Prints an index tuple without parentheses: Python allows slices only there.
static std::string dumpIndex(const Expr &index) {
  if (const auto *tuple = index.as<TupleExpr>())
    if (!tuple->elements.empty())
      return join(tuple->elements) + (tuple->elements.size() == 1 ? "," : "");
  return dump(index);
}

// Prints an f-string. Braces in its texts are doubled, as Python requires.
static std::string dumpJoined(const JoinedStr &node) {
  std::string text = "f'''";
  for (size_t i = 0; i < node.texts.size(); ++i) {
    std::string plain = Value(node.texts[i]).repr();
    for (char c : plain.substr(1, plain.size() - 2)) {
      text += c;
      if (c == '{' || c == '}')
        text += c;
    }
    if (i < node.values.size())
      text += "{" + dump(*node.values[i]) + (node.reprs[i] ? "!r}" : "}");
  }
  return text + "'''";
}

std::string dump(const Expr &expr) {
  switch (expr.kind) {
  case ExprKind::Name:
    return expr.to<Name>().id;
  case ExprKind::Constant: {
    const Value &value = expr.to<Constant>().value;
    // Infinity can only be written as a literal out of range.
    if (const double *number = value.get<double>();
        number && std::isinf(*number))
      return "1e999";
    return value.repr();
  }
  case ExprKind::BinOp: {
    const auto &node = expr.to<BinOp>();
    return "(" + dump(*node.left) + " " + spelling(node.op) + " " +
           dump(*node.right) + ")";
  }
  case ExprKind::UnaryOp: {
    const auto &node = expr.to<UnaryOpExpr>();
    return "(" + std::string(spelling(node.op)) +
           (node.op == UnaryOp::Not ? " " : "") + dump(*node.operand) + ")";
  }
  case ExprKind::BoolOp: {
    const auto &node = expr.to<BoolOp>();
    std::string text;
    for (const ExprPtr &value : node.values)
      text += (text.empty() ? std::string()
                            : std::string(" ") + spelling(node.op) + " ") +
              dump(*value);
    return "(" + text + ")";
  }
  case ExprKind::Compare: {
    const auto &node = expr.to<Compare>();
    std::string text = dump(*node.left);
    for (size_t i = 0; i < node.ops.size(); ++i)
      text += std::string(" ") + spelling(node.ops[i]) + " " +
              dump(*node.comparators[i]);
    return "(" + text + ")";
  }
  case ExprKind::Call:
    return dumpCall(expr.to<Call>());
  case ExprKind::Attribute: {
    const auto &node = expr.to<Attribute>();
    std::string value = dump(*node.value);
    // `1.real` would be a number.
    if (node.value->is<Constant>())
      value = "(" + value + ")";
    return value + "." + node.attribute;
  }
  case ExprKind::Subscript: {
    const auto &node = expr.to<Subscript>();
    return dump(*node.value) + "[" + dumpIndex(*node.index) + "]";
  }
  case ExprKind::Slice:
    return dumpSlice(expr.to<Slice>());
  case ExprKind::Tuple: {
    const auto &node = expr.to<TupleExpr>();
    return "(" + join(node.elements) + (node.elements.size() == 1 ? ",)" : ")");
  }
  case ExprKind::List:
    return "[" + join(expr.to<ListExpr>().elements) + "]";
  case ExprKind::Dict:
    return dumpDict(expr.to<DictExpr>());
  case ExprKind::IfExp: {
    const auto &node = expr.to<IfExp>();
    return "(" + dump(*node.body) + " if " + dump(*node.test) + " else " +
           dump(*node.orelse) + ")";
  }
  case ExprKind::Lambda: {
    const auto &node = expr.to<Lambda>();
    std::string text = "(lambda";
    for (size_t i = 0; i < node.parameters.size(); ++i)
      text += (i ? ", " : " ") + node.parameters[i];
    return text + ": " + dump(*node.body) + ")";
  }
  case ExprKind::Comprehension:
    return dumpComprehension(expr.to<Comprehension>());
  case ExprKind::Starred:
    return "*" + dump(*expr.to<Starred>().value);
  case ExprKind::JoinedStr:
    return dumpJoined(expr.to<JoinedStr>());
  }
  return "";
}

static std::string dumpBlock(const Block &block, unsigned indent) {
  if (block.empty())
    return std::string(indent, ' ') + "pass\n";
  std::string text;
  for (const StmtPtr &stmt : block)
    text += dump(*stmt, indent);
  return text;
}

static std::string dumpIf(const If &node, unsigned indent) {
  std::string pad(indent, ' ');
  std::string text =
      "if " + dump(*node.test) + ":\n" + dumpBlock(node.body, indent + 4);
  if (node.orelse.empty())
    return text;
  if (node.orelse.size() == 1 && node.orelse[0]->is<If>())
    return text + pad + "el" + dumpIf(node.orelse[0]->to<If>(), indent);
  return text + pad + "else:\n" + dumpBlock(node.orelse, indent + 4);
}

static std::string dumpParameter(const Parameter &parameter) {
  std::string text = parameter.name;
  if (parameter.annotation)
    text += ": " + dump(*parameter.annotation);
  if (parameter.defaultValue)
    text += " = " + dump(*parameter.defaultValue);
  return text;
}

static std::string dumpFunction(const FunctionDef &node, unsigned indent);

static std::string dumpClass(const FunctionDef &node, unsigned indent) {
  const std::string pad(indent, ' ');
  std::string text =
      node.isAggregate
          ? pad + "@triton.aggregate\n" + pad + "class " + node.name + ":\n"
          : pad + "class " + node.name + "(NamedTuple):\n";
  for (const Parameter &field : node.parameters)
    text += pad + "    " + dumpParameter(field) + "\n";
  for (const auto &method : node.methods)
    text += dumpFunction(*method, indent + 4);
  return text;
}

const FunctionDef *FunctionDef::method(std::string_view name) const {
  for (const auto &method : methods)
    if (method->name == name)
      return method.get();
  return nullptr;
}

static std::string dumpFunction(const FunctionDef &node, unsigned indent) {
  if (node.isNamedTuple)
    return dumpClass(node, indent);
  std::string pad(indent, ' '), text;
  for (const HintComment &hint : node.hints)
    text += pad + "# tessera: " + hint.text + "\n";
  for (const ExprPtr &decorator : node.decorators)
    text += pad + "@" + dump(*decorator) + "\n";
  text += pad + "def " + node.name + "(";
  for (size_t i = 0; i < node.parameters.size(); ++i) {
    const bool first = node.parameters[i].isKeywordOnly &&
                       (i == 0 || !node.parameters[i - 1].isKeywordOnly);
    text += std::string(i ? ", " : "") + (first ? "*, " : "") +
            dumpParameter(node.parameters[i]);
  }
  return text + "):\n" + dumpBlock(node.body, indent + 4);
}

std::string dump(const Stmt &stmt, unsigned indent) {
  std::string pad(indent, ' ');
  switch (stmt.kind) {
  case StmtKind::Assign: {
    const auto &node = stmt.to<Assign>();
    std::string text = pad;
    for (const ExprPtr &target : node.targets)
      text += dump(*target) + " = ";
    return text + dump(*node.value) + "\n";
  }
  case StmtKind::AugAssign: {
    const auto &node = stmt.to<AugAssign>();
    return pad + dump(*node.target) + " " + spelling(node.op) + "= " +
           dump(*node.value) + "\n";
  }
  case StmtKind::AnnAssign: {
    const auto &node = stmt.to<AnnAssign>();
    return pad + dump(*node.target) + ": " + dump(*node.annotation) +
           (node.value ? " = " + dump(*node.value) : "") + "\n";
  }
  case StmtKind::For: {
    const auto &node = stmt.to<For>();
    return pad + "for " + dump(*node.target) + " in " + dump(*node.iterable) +
           ":\n" + dumpBlock(node.body, indent + 4);
  }
  case StmtKind::While: {
    const auto &node = stmt.to<While>();
    return pad + "while " + dump(*node.test) + ":\n" +
           dumpBlock(node.body, indent + 4);
  }
  case StmtKind::Assert: {
    const auto &node = stmt.to<Assert>();
    return pad + "assert " + dump(*node.test) +
           (node.message ? ", " + dump(*node.message) : "") + "\n";
  }
  case StmtKind::Raise: {
    const auto &node = stmt.to<Raise>();
    return pad + "raise" + (node.value ? " " + dump(*node.value) : "") + "\n";
  }
  case StmtKind::If:
    return pad + dumpIf(stmt.to<If>(), indent);
  case StmtKind::Return: {
    const auto &node = stmt.to<Return>();
    return pad + "return" + (node.value ? " " + dump(*node.value) : "") + "\n";
  }
  case StmtKind::ExprStmt:
    return pad + dump(*stmt.to<ExprStmt>().value) + "\n";
  case StmtKind::Pass:
    return pad + "pass\n";
  case StmtKind::Break:
    return pad + "break\n";
  case StmtKind::Continue:
    return pad + "continue\n";
  case StmtKind::Import: {
    const auto &node = stmt.to<Import>();
    return pad + "import " + node.module +
           (node.hasAlias ? " as " + node.alias : "") + "\n";
  }
  case StmtKind::ImportFrom: {
    const auto &node = stmt.to<ImportFrom>();
    return pad + "from " + std::string(node.level, '.') + node.module +
           " import " + node.name +
           (node.alias != node.name ? " as " + node.alias : "") + "\n";
  }
  case StmtKind::FunctionDef:
    return dumpFunction(stmt.to<FunctionDef>(), indent);
  case StmtKind::Skipped: // holds no code
    return "";
  }
  return "";
}

std::string dump(const Module &module) {
  std::string text;
  for (const StmtPtr &stmt : module.body)
    text += dump(*stmt);
  return text;
}

} // namespace tessera::language
