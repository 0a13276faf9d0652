// language/Tree.h - the syntax tree of a kernel file.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// The nodes mirror Python's ast for the subset that kernels use. A node owns
// its children through unique_ptr. Null children are documented.
// node.is<Name>() tests the kind, and node.as<Name>() returns null for another
// kind. classof makes llvm::isa and llvm::dyn_cast work, too.
#pragma once

#include "language/Value.h"
#include "support/Diagnostics.h"

#include <memory>
#include <string>
#include <vector>

namespace tessera::language {

// The operators of Python.
enum class BinaryOp {
  Add,
  Sub,
  Mul,
  Div,
  FloorDiv,
  Mod,
  Pow,
  LShift,
  RShift,
  And,
  Or,
  Xor,
  MatMul,
};
enum class UnaryOp { Neg, Pos, Not, Invert };
enum class BoolOpKind { And, Or };
enum class CompareOp { Eq, Ne, Lt, Le, Gt, Ge, Is, IsNot, In, NotIn };

// Returns the operator as Python writes it: "+", "//", "not in".
const char *spelling(BinaryOp op);
const char *spelling(UnaryOp op);
const char *spelling(BoolOpKind op);
const char *spelling(CompareOp op);

template <typename Base, typename Kind>
class NodeOf {
public:
  virtual ~NodeOf() = default;
  const Kind kind;
  SourceRange range;

  template <typename T>
  bool is() const {
    return kind == T::nodeKind;
  }
  template <typename T>
  const T *as() const {
    return is<T>() ? static_cast<const T *>(static_cast<const Base *>(this))
                   : nullptr;
  }
  template <typename T>
  T *as() {
    return is<T>() ? static_cast<T *>(static_cast<Base *>(this)) : nullptr;
  }
  // Casts to a kind of node; the caller must know that it is right.
  template <typename T>
  const T &to() const {
    return *static_cast<const T *>(static_cast<const Base *>(this));
  }

protected:
  NodeOf(Kind kind, SourceRange range) : kind(kind), range(range) {}
};

enum class ExprKind {
  Name,
  Constant,
  BinOp,
  UnaryOp,
  BoolOp,
  Compare,
  Call,
  Attribute,
  Subscript,
  Slice,
  Tuple,
  List,
  Dict,
  IfExp,
  Lambda,
  Comprehension,
  Starred,
  JoinedStr,
};

struct Expr : NodeOf<Expr, ExprKind> {
  using NodeOf::NodeOf;
};
using ExprPtr = std::unique_ptr<Expr>;

// Gives a node its kind and the `classof` that LLVM's casts look for.
template <ExprKind kindOf>
struct ExprNode : Expr {
  static constexpr ExprKind nodeKind = kindOf;
  explicit ExprNode(SourceRange range = {}) : Expr(kindOf, range) {}
  static bool classof(const Expr *expr) { return expr->kind == kindOf; }
};

struct Name : ExprNode<ExprKind::Name> {
  using ExprNode::ExprNode;
  std::string id;
};

// None, bool, int, float or string. An ellipsis is Value::Named{"..."}.
struct Constant : ExprNode<ExprKind::Constant> {
  using ExprNode::ExprNode;
  Value value;
};

struct BinOp : ExprNode<ExprKind::BinOp> {
  using ExprNode::ExprNode;
  BinaryOp op = BinaryOp::Add;
  ExprPtr left, right;
  /// True if the source has parentheses around the operation, which `range`
  /// leaves out.
  bool parenthesized = false;
};

struct UnaryOpExpr : ExprNode<ExprKind::UnaryOp> {
  using ExprNode::ExprNode;
  UnaryOp op = UnaryOp::Neg;
  ExprPtr operand;
};

// `a and b and c` is one node with three values.
struct BoolOp : ExprNode<ExprKind::BoolOp> {
  using ExprNode::ExprNode;
  BoolOpKind op = BoolOpKind::And;
  std::vector<ExprPtr> values;
};

// A comparison: left ops[0] comparators[0] ops[1] comparators[1] ...
struct Compare : ExprNode<ExprKind::Compare> {
  using ExprNode::ExprNode;
  ExprPtr left;
  std::vector<CompareOp> ops;
  std::vector<ExprPtr> comparators;
};

struct Keyword {
  std::string name;
  ExprPtr value;
  SourceRange range;
};

struct Call : ExprNode<ExprKind::Call> {
  using ExprNode::ExprNode;
  ExprPtr function;
  std::vector<ExprPtr> arguments;
  std::vector<Keyword> keywords;
};

struct Attribute : ExprNode<ExprKind::Attribute> {
  using ExprNode::ExprNode;
  ExprPtr value;
  std::string attribute;
  SourceRange attributeRange;
};

// A subscript; `index` is a TupleExpr for x[a, b].
struct Subscript : ExprNode<ExprKind::Subscript> {
  using ExprNode::ExprNode;
  ExprPtr value;
  ExprPtr index;
};

// lower:upper:step inside a subscript; each of the three may be null.
struct Slice : ExprNode<ExprKind::Slice> {
  using ExprNode::ExprNode;
  ExprPtr lower, upper, step;
};

struct TupleExpr : ExprNode<ExprKind::Tuple> {
  using ExprNode::ExprNode;
  std::vector<ExprPtr> elements;
};

struct ListExpr : ExprNode<ExprKind::List> {
  using ExprNode::ExprNode;
  std::vector<ExprPtr> elements;
};

// A dict display. A null key means `**value`.
struct DictExpr : ExprNode<ExprKind::Dict> {
  using ExprNode::ExprNode;
  std::vector<ExprPtr> keys, values;
};

struct IfExp : ExprNode<ExprKind::IfExp> {
  using ExprNode::ExprNode;
  ExprPtr test, body, orelse;
};

struct Lambda : ExprNode<ExprKind::Lambda> {
  using ExprNode::ExprNode;
  std::vector<std::string> parameters;
  ExprPtr body;
};

struct ComprehensionClause {
  ExprPtr target, iterable;
  std::vector<ExprPtr> conditions;
};

// [element for ...], (element for ...) or {key: element for ...}.
enum class ComprehensionKind { List, Generator, Dict };
struct Comprehension : ExprNode<ExprKind::Comprehension> {
  using ExprNode::ExprNode;
  ComprehensionKind form = ComprehensionKind::List;
  ExprPtr key; // key of a dict comprehension, else null
  ExprPtr element;
  std::vector<ComprehensionClause> clauses;
};

struct Starred : ExprNode<ExprKind::Starred> {
  using ExprNode::ExprNode;
  ExprPtr value;
};

// f"text {value} text": one text more than there are values.
struct JoinedStr : ExprNode<ExprKind::JoinedStr> {
  using ExprNode::ExprNode;
  std::vector<std::string> texts;
  std::vector<ExprPtr> values;
  std::vector<bool> reprs; // per value: true for {x!r} and {x=}
};

enum class StmtKind {
  Assign,
  AugAssign,
  AnnAssign,
  For,
  While,
  If,
  Return,
  ExprStmt,
  Assert,
  Raise,
  Pass,
  Break,
  Continue,
  Import,
  ImportFrom,
  FunctionDef,
  Skipped,
};

struct Stmt : NodeOf<Stmt, StmtKind> {
  using NodeOf::NodeOf;
};
using StmtPtr = std::unique_ptr<Stmt>;
using Block = std::vector<StmtPtr>;

template <StmtKind kindOf>
struct StmtNode : Stmt {
  static constexpr StmtKind nodeKind = kindOf;
  explicit StmtNode(SourceRange range = {}) : Stmt(kindOf, range) {}
  static bool classof(const Stmt *stmt) { return stmt->kind == kindOf; }
};

// a = b = value has two targets.
struct Assign : StmtNode<StmtKind::Assign> {
  using StmtNode::StmtNode;
  std::vector<ExprPtr> targets;
  ExprPtr value;
};

struct AugAssign : StmtNode<StmtKind::AugAssign> {
  using StmtNode::StmtNode;
  ExprPtr target;
  BinaryOp op = BinaryOp::Add;
  ExprPtr value;
};

struct AnnAssign : StmtNode<StmtKind::AnnAssign> {
  using StmtNode::StmtNode;
  ExprPtr target, annotation;
  ExprPtr value; // null for a bare `x: int`
};

struct For : StmtNode<StmtKind::For> {
  using StmtNode::StmtNode;
  ExprPtr target, iterable;
  Block body;
};

struct While : StmtNode<StmtKind::While> {
  using StmtNode::StmtNode;
  ExprPtr test;
  Block body;
};

// An `elif` is an If that is the only statement of orelse.
struct If : StmtNode<StmtKind::If> {
  using StmtNode::StmtNode;
  ExprPtr test;
  Block body, orelse;
};

struct Return : StmtNode<StmtKind::Return> {
  using StmtNode::StmtNode;
  ExprPtr value; // null for a bare `return`
};

struct ExprStmt : StmtNode<StmtKind::ExprStmt> {
  using StmtNode::StmtNode;
  ExprPtr value;
};

struct Assert : StmtNode<StmtKind::Assert> {
  using StmtNode::StmtNode;
  ExprPtr test;
  ExprPtr message; // null when there is none
};

// `raise` is an error if the compiler reaches it.
struct Raise : StmtNode<StmtKind::Raise> {
  using StmtNode::StmtNode;
  ExprPtr value; // null for a bare `raise`
};

struct Pass : StmtNode<StmtKind::Pass> {
  using StmtNode::StmtNode;
};
struct Break : StmtNode<StmtKind::Break> {
  using StmtNode::StmtNode;
};
struct Continue : StmtNode<StmtKind::Continue> {
  using StmtNode::StmtNode;
};

// import name [as alias]; one node per imported name.
struct Import : StmtNode<StmtKind::Import> {
  using StmtNode::StmtNode;
  std::string module; // "triton.language"
  std::string alias;  // what the module is called here: "tl"; "triton" for a
                      // bare `import triton.language`
  bool hasAlias = false;
};

// from module import name [as alias], one node per imported name.
struct ImportFrom : StmtNode<StmtKind::ImportFrom> {
  using StmtNode::StmtNode;
  unsigned level = 0;      // number of leading dots
  std::string module;      // "" for `from . import x`
  std::string name, alias; // alias equals name without an `as`
};

struct Parameter {
  std::string name;
  ExprPtr annotation;         // null when there is none
  ExprPtr defaultValue;       // null when there is none
  bool isConstexpr = false;   // annotated tl.constexpr or constexpr
  bool isKeywordOnly = false; // after `*`
  SourceRange range;
};

// `# tessera: ...` before a function, without the marker.
struct HintComment {
  std::string text;
  SourceRange range; // of the text
};

// Code around kernels, which the parser skips.
struct Skipped : StmtNode<StmtKind::Skipped> {
  using StmtNode::StmtNode;
  std::vector<std::string> names; // names that it may bind
  std::string why, hint;          // "`:=` is not supported"
};

struct FunctionDef : StmtNode<StmtKind::FunctionDef> {
  using StmtNode::StmtNode;
  std::string name;
  SourceRange nameRange;
  std::vector<Parameter> parameters;
  std::vector<ExprPtr> decorators;
  std::vector<HintComment> hints;
  std::string docstring; // not part of body
  Block body;
  bool isJit = false;      // decorated with triton.jit
  size_t jitDecorator = 0; // if isJit: its index in `decorators`
  // Decorated with triton.constexpr_function or tl.constexpr: runs while
  // compiling.
  bool isConstexpr = false;
  // A Python function whose body contains only what kernels support. It runs at
  // compile time if its arguments are known.
  bool isPlain = false;
  // A class of typing.NamedTuple or of triton.aggregate: its fields are the
  // parameters, a call makes a tuple.
  bool isNamedTuple = false;
  bool isAggregate = false; // under triton.aggregate
  // Of a class: its functions under triton.jit, and `__init__` of an aggregate.
  std::vector<std::unique_ptr<FunctionDef>> methods;
  std::shared_ptr<const SourceFile> file;
  // Errors that are reported only if the function is compiled: Python that
  // kernels do not support, and a second definition.
  std::vector<Diagnostic> problems;

  // Returns the method of a class, or null.
  const FunctionDef *method(std::string_view name) const;
};

struct Module {
  std::shared_ptr<const SourceFile> file;
  std::string docstring;
  // Top-level statements in order: imports, assignments, functions.
  Block body;
  // Kernels that are defined inside functions or classes of Python; they have
  // only names and parameters.
  Block nested;

  // Returns the last function of that name, as in Python; null if there is
  // none.
  const FunctionDef *findFunction(std::string_view name) const;
};

// Prints canonical Python: every operator in parentheses, without comments and
// docstrings.
std::string dump(const Expr &expr);
std::string dump(const Stmt &stmt, unsigned indent = 0);
std::string dump(const Module &module);

} // namespace tessera::language
