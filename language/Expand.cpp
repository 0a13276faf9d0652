// language/Expand.cpp - writes a kernel with its callees and constants as one
// text.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/Expand.h"

#include "language/ConstexprValues.h"
#include "language/KnownNames.h"
#include "language/SignatureTuples.h"
#include "support/Error.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace tessera::language {

namespace {

// True if a decorator affects the code: triton.jit, or one of a function that
// runs at compile time.
bool isPartOfText(const FunctionDef &function, const ExprPtr &decorator) {
  if (function.isJit)
    return decorator == function.decorators.at(function.jitDecorator);
  const auto *call = decorator->as<Call>();
  const std::string head = dump(call ? *call->function : *decorator);
  return head.ends_with("constexpr_function") || head == "constexpr" ||
         head.ends_with(".constexpr");
}

// Collects all names that the code of a function reads or binds, in order.
class NameCollector {
public:
  std::vector<std::string> names;

  // Adds the names that a method reads, without its variables.
  void method(const FunctionDef &node) {
    NameCollector inner;
    inner.function(node);
    for (const std::string &name : inner.names)
      if (seen.insert(name).second)
        names.push_back(name);
  }

  void function(const FunctionDef &node) {
    for (const Parameter &parameter : node.parameters) {
      bound.insert(parameter.name);
      optional(parameter.annotation);
      if (parameter.annotation)
        optional(quotedAnnotation(*parameter.annotation));
      optional(parameter.defaultValue);
    }
    for (const ExprPtr &decorator : node.decorators) {
      // Collects only triton.jit: its arguments are evaluated, and other
      // decorators do not change the code.
      const Expr &head =
          decorator->is<Call>() ? *decorator->to<Call>().function : *decorator;
      if (isPartOfText(node, decorator))
        expr(head);
    }
    block(node.body);
    std::erase_if(
        names, [&](const std::string &name) { return bound.contains(name); });
  }

private:
  std::set<std::string> bound, seen;

  void optional(const ExprPtr &node) {
    if (node)
      expr(*node);
  }
  void all(const std::vector<ExprPtr> &list) {
    for (const ExprPtr &node : list)
      expr(*node);
  }
  void bind(const Expr &target) {
    if (const auto *name = target.as<Name>())
      bound.insert(name->id);
    else if (const auto *tuple = target.as<TupleExpr>())
      for (const ExprPtr &element : tuple->elements)
        bind(*element);
    else if (const auto *list = target.as<ListExpr>())
      for (const ExprPtr &element : list->elements)
        bind(*element);
  }

  void block(const Block &body) {
    for (const StmtPtr &stmt : body)
      statement(*stmt);
  }

  void statement(const Stmt &stmt) {
    if (const auto *assign = stmt.as<Assign>()) {
      for (const ExprPtr &target : assign->targets)
        bind(*target);
      expr(*assign->value);
    } else if (const auto *augmented = stmt.as<AugAssign>()) {
      bind(*augmented->target);
      expr(*augmented->value);
    } else if (const auto *annotated = stmt.as<AnnAssign>()) {
      bind(*annotated->target);
      expr(*annotated->annotation);
      optional(annotated->value);
    } else if (const auto *loop = stmt.as<For>()) {
      bind(*loop->target);
      expr(*loop->iterable);
      block(loop->body);
    } else if (const auto *repeat = stmt.as<While>()) {
      expr(*repeat->test);
      block(repeat->body);
    } else if (const auto *claim = stmt.as<Assert>()) {
      expr(*claim->test);
      optional(claim->message);
    } else if (const auto *error = stmt.as<Raise>()) {
      optional(error->value);
    } else if (const auto *branch = stmt.as<If>()) {
      expr(*branch->test);
      block(branch->body);
      block(branch->orelse);
    } else if (const auto *result = stmt.as<Return>()) {
      optional(result->value);
    } else if (const auto *plain = stmt.as<ExprStmt>()) {
      expr(*plain->value);
    }
  }

  void expr(const Expr &node) {
    switch (node.kind) {
    case ExprKind::Name:
      if (seen.insert(node.to<Name>().id).second)
        names.push_back(node.to<Name>().id);
      return;
    case ExprKind::BinOp:
      expr(*node.to<BinOp>().left);
      return expr(*node.to<BinOp>().right);
    case ExprKind::UnaryOp:
      return expr(*node.to<UnaryOpExpr>().operand);
    case ExprKind::BoolOp:
      return all(node.to<BoolOp>().values);
    case ExprKind::Compare:
      expr(*node.to<Compare>().left);
      return all(node.to<Compare>().comparators);
    case ExprKind::Call:
      expr(*node.to<Call>().function);
      all(node.to<Call>().arguments);
      for (const Keyword &keyword : node.to<Call>().keywords)
        expr(*keyword.value);
      return;
    case ExprKind::Attribute:
      return expr(*node.to<Attribute>().value);
    case ExprKind::Subscript:
      expr(*node.to<Subscript>().value);
      return expr(*node.to<Subscript>().index);
    case ExprKind::Slice:
      optional(node.to<Slice>().lower);
      optional(node.to<Slice>().upper);
      return optional(node.to<Slice>().step);
    case ExprKind::Tuple:
      return all(node.to<TupleExpr>().elements);
    case ExprKind::List:
      return all(node.to<ListExpr>().elements);
    case ExprKind::IfExp:
      expr(*node.to<IfExp>().test);
      expr(*node.to<IfExp>().body);
      return expr(*node.to<IfExp>().orelse);
    case ExprKind::Starred:
      return expr(*node.to<Starred>().value);
    case ExprKind::JoinedStr:
      return all(node.to<JoinedStr>().values);
    case ExprKind::Comprehension:
      for (const ComprehensionClause &clause :
           node.to<Comprehension>().clauses) {
        bind(*clause.target);
        expr(*clause.iterable);
        all(clause.conditions);
      }
      return expr(*node.to<Comprehension>().element);
    default:
      return; // the rest does not occur in a kernel
    }
  }
};

std::string literal(const Value &value) {
  const double *number = value.get<double>();
  if (number && !std::isfinite(*number))
    return "float('" + value.repr() + "')";
  if (const auto *named = value.get<Value::Named>())
    return named->path;
  return value.repr();
}

// Returns the text of a function. Of its decorators, only the arguments of
// triton.jit affect the code.
std::string functionText(const FunctionDef &function) {
  std::string text = dump(function);
  if (function.isNamedTuple)
    return text;
  size_t def = text.find("def " + function.name + "(");
  std::string jit;
  for (const ExprPtr &decorator : function.decorators)
    if (isPartOfText(function, decorator))
      jit = "@" + dump(*decorator) + "\n";
  return jit + text.substr(def);
}

class Expander {
public:
  explicit Expander(const Program &program) : program(program) {}

  void visit(const FunctionDef &function) {
    if (!visited.insert(&function).second)
      return;
    if (!function.problems.empty())
      throw CompileError(function.problems);
    if (auto wrong = checkJitDecorators(program, function); !wrong.empty())
      throw CompileError(std::move(wrong));
    for (const auto &method : function.methods)
      if (!method->problems.empty())
        throw CompileError(method->problems);
      else if (auto wrong = checkJitDecorators(program, *method);
               !wrong.empty())
        throw CompileError(std::move(wrong));
    NameCollector collector;
    collector.function(function);
    for (const auto &method : function.methods)
      collector.method(*method);
    // Two files may define one name differently. So the text of each function
    // lists what its names refer to; otherwise both would have the same key.
    std::string meanings;
    for (const std::string &name : collector.names) {
      std::optional<Symbol> symbol = program.lookup(function, name);
      if (!symbol)
        continue;
      switch (symbol->kind) {
      case Symbol::Kind::Function:
        visit(*symbol->function);
        meanings += "# " + name + " is function " +
                    std::to_string(positions[symbol->function]) + ", " +
                    symbol->function->name + "\n";
        break;
      case Symbol::Kind::Constant:
        visitFunctions(symbol->value);
        noteLibraries(symbol->value);
        note(name + " = " + literal(symbol->value));
        meanings += "# " + name + " is " + literal(symbol->value) + "\n";
        break;
      case Symbol::Kind::Library:
        note(library(symbol->path, name));
        break;
      case Symbol::Kind::Unread: // an error where it is used
        meanings += "# " + name + " is not read\n";
        break;
      }
    }
    order.push_back(&function);
    positions[&function] = order.size();
    texts.push_back(meanings + functionText(function));
  }

  // Adds the functions that a compile-time argument is or contains.
  void visitArgument(const std::string &name, const Value &value) {
    if (const std::vector<Value> *items = value.sequence())
      for (size_t i = 0; i < items->size(); ++i)
        visitArgument(name + "." + std::to_string(i), (*items)[i]);
    const auto *function = value.get<Value::KernelFunction>();
    if (!function)
      return;
    const FunctionDef &found = program.function(*function);
    visit(found);
    passed += "# " + name + " is function " +
              std::to_string(positions[&found]) + ", " + found.name + "\n";
  }

  Expansion finish() {
    Expansion result;
    result.functions = order;
    // Imports come before the constants that may use them.
    for (const std::string &line : lines)
      if (line.starts_with("import ") || line.starts_with("from "))
        result.text += line + "\n";
    for (const std::string &line : lines)
      if (!line.starts_with("import ") && !line.starts_with("from "))
        result.text += line + "\n";
    for (const std::string &text : texts)
      result.text += text;
    result.text += passed;
    return result;
  }

private:
  void note(std::string line) { lines.insert(std::move(line)); }

  // Visits the functions that a constant refers to or contains.
  void visitFunctions(const Value &value) {
    if (const std::vector<Value> *items = value.sequence())
      for (const Value &item : *items)
        visitFunctions(item);
    if (const auto *function = value.get<Value::KernelFunction>())
      visit(program.function(*function));
  }

  // Adds the imports of libraries that a constant's text names. Otherwise the
  // text would have another meaning when it is parsed again.
  void noteLibraries(const Value &value) {
    if (const std::vector<Value> *items = value.sequence()) {
      for (const Value &item : *items)
        noteLibraries(item);
    } else if (const auto *dict = value.get<Value::Dict>()) {
      for (const auto &[key, item] : dict->items) {
        noteLibraries(key);
        noteLibraries(item);
      }
    } else if (const auto *named = value.get<Value::Named>()) {
      if (const size_t dot = named->path.find('.'); dot != std::string::npos)
        note("import " + named->path.substr(0, dot));
    }
  }

  static std::string library(const std::string &path, const std::string &name) {
    if (path == name)
      return "import " + name;
    size_t dot = path.rfind('.');
    if (dot == std::string::npos)
      return "import " + path + " as " + name;
    // Writes `import a.b` and `from a import b` alike.
    std::string last = path.substr(dot + 1);
    return "from " + path.substr(0, dot) + " import " + last +
           (last == name ? "" : " as " + name);
  }

  const Program &program;
  std::set<const FunctionDef *> visited;
  std::vector<const FunctionDef *> order;
  std::vector<std::string> texts;
  std::map<const FunctionDef *, size_t> positions; // from 1, in `order`
  std::set<std::string> lines;
  std::string passed; // names the functions that arguments are
};

} // namespace

Expansion expand(const Program &program, const FunctionDef &kernel) {
  Expander expander(program);
  expander.visit(kernel);
  return expander.finish();
}

Expansion expand(const Program &program, const FunctionDef &kernel,
                 const std::vector<Argument> &arguments) {
  Expander expander(program);
  for (const Argument &argument : arguments)
    expander.visitArgument(argument.name, argument.value);
  expander.visit(kernel);
  return expander.finish();
}

bool holdsFunction(const Value &value) {
  if (const std::vector<Value> *items = value.sequence())
    return std::any_of(items->begin(), items->end(), holdsFunction);
  return value.is<Value::KernelFunction>();
}

static std::vector<RequestSource> sourcesOf(const Program &program) {
  std::vector<RequestSource> sources;
  for (const auto &file : program.files())
    sources.push_back({file->path(), file->text()});
  return sources;
}

void addFunctions(const Program &program, CompileRequest &request) {
  if (std::none_of(request.args.begin(), request.args.end(),
                   [](const Argument &argument) {
                     return holdsFunction(argument.value);
                   }))
    return;
  request.text =
      expand(program, program.kernel(request.kernel), request.args).text;
  request.sources = sourcesOf(program);
}

std::string textWith(const Program &program, std::string_view kernel,
                     const Constexprs &constexprs) {
  std::vector<Argument> functions;
  for (const auto &[name, value] : constexprs)
    if (std::holds_alternative<EncodedConstexpr>(value)) {
      Argument argument;
      argument.name = name;
      argument.value = toValue(value);
      if (holdsFunction(argument.value))
        functions.push_back(std::move(argument));
    }
  return expand(program, program.kernel(kernel), functions).text;
}

CompileRequest makeRequest(const Program &program, std::string_view kernel) {
  CompileRequest request;
  request.file = program.main().file->path();
  request.kernel = std::string(kernel);
  request.text = expand(program, program.kernel(kernel)).text;
  request.sources = sourcesOf(program);
  return request;
}

} // namespace tessera::language
