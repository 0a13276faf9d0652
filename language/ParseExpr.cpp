// language/ParseExpr.cpp - parses expressions, by Python's precedence.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/ParserImpl.h"

namespace tessera::language {

static constexpr unsigned maxDepth = 200;
static constexpr unsigned maxLinks = 2000;

Parser::Deeper::Deeper(Parser &parser) : parser(parser) {
  if (parser.depth >= maxDepth)
    parser.fail(DiagnosticId::TooComplex, parser.peek().range,
                "the code is nested too deeply",
                "give parts of the expression names");
  ++parser.depth;
}

void Parser::countLink() {
  if (++links > maxLinks)
    fail(DiagnosticId::TooComplex, peek().range, "the statement is too long",
         "give parts of the expression names");
}

bool Parser::expressionStarts() const {
  const Token &token = peek();
  switch (token.kind) {
  case TokenKind::Name:
  case TokenKind::Number:
  case TokenKind::String:
  case TokenKind::FormatOpen:
  case TokenKind::Foreign:
  case TokenKind::Invalid:
    return true;
  default:
    break;
  }
  for (std::string_view start : {"(", "[", "{", "-", "+", "~", "...", "not",
                                 "None", "True", "False", "lambda", "*"})
    if (token.is(start))
      return true;
  return false;
}

// Parses `a, b, c`: a tuple, or a single expression without a comma.
ExprPtr Parser::parseExpressionList(bool allowStar) {
  SourceRange start = peek().range;
  ExprPtr first = allowStar ? parseElement() : parseExpression();
  if (!at(","))
    return first;
  auto tuple = std::make_unique<TupleExpr>();
  tuple->elements.push_back(std::move(first));
  while (accept(",")) {
    if (!expressionStarts())
      break;
    tuple->elements.push_back(allowStar ? parseElement() : parseExpression());
  }
  tuple->range = since(start);
  return tuple;
}

// Parses an element of a list, tuple or set: an expression, or *expression.
ExprPtr Parser::parseElement() {
  if (!at("*"))
    return parseExpression();
  SourceRange start = next().range;
  auto node = std::make_unique<Starred>();
  node->value = parseOr();
  node->range = since(start);
  return node;
}

ExprPtr Parser::parseExpression() {
  Deeper deeper(*this);
  if (at("lambda"))
    return parseLambda();
  SourceRange start = peek().range;
  ExprPtr body = parseOr();
  if (at(":="))
    unsupported(peek().range, "`:=`", "assign in a statement of its own");
  if (!accept("if"))
    return body;
  auto node = std::make_unique<IfExp>();
  node->body = std::move(body);
  node->test = parseOr();
  if (!at("else"))
    unexpected("`else` of the conditional expression");
  next();
  node->orelse = parseExpression();
  node->range = since(start);
  return node;
}

ExprPtr Parser::parseLambda() {
  SourceRange start = next().range;
  if (functionDepth && !isHostFunction)
    unsupported(start, "lambda inside a kernel",
                "write a @triton.jit function");
  auto node = std::make_unique<Lambda>();
  while (!at(":")) {
    if (at("*") || at("**") || at("/"))
      unsupported(peek().range, "variable parameters of a lambda",
                  "name the parameters");
    const Token &name = expectName("a parameter");
    node->parameters.emplace_back(name.text);
    if (at("="))
      unsupported(peek().range, "defaults of a lambda",
                  "write the value in its body");
    if (!accept(","))
      break;
  }
  expect(":", "the parameters of the lambda");
  node->body = parseExpression();
  node->range = since(start);
  return node;
}

ExprPtr Parser::parseOr() {
  return parseBoolOp(BoolOpKind::Or, &Parser::parseAnd);
}

ExprPtr Parser::parseAnd() {
  return parseBoolOp(BoolOpKind::And, &Parser::parseNot);
}

ExprPtr Parser::parseBoolOp(BoolOpKind op, ExprPtr (Parser::*operand)()) {
  SourceRange start = peek().range;
  ExprPtr first = (this->*operand)();
  if (!at(spelling(op)))
    return first;
  auto node = std::make_unique<BoolOp>();
  node->op = op;
  node->values.push_back(std::move(first));
  while (accept(spelling(op)))
    node->values.push_back((this->*operand)());
  node->range = since(start);
  return node;
}

ExprPtr Parser::parseNot() {
  if (!at("not"))
    return parseComparison();
  Deeper deeper(*this);
  SourceRange start = next().range;
  auto node = std::make_unique<UnaryOpExpr>();
  node->op = UnaryOp::Not;
  node->operand = parseNot();
  node->range = since(start);
  return node;
}

bool Parser::parseCompareOp(CompareOp &op) {
  static constexpr std::pair<std::string_view, CompareOp> simple[] = {
      {"==", CompareOp::Eq}, {"!=", CompareOp::Ne}, {"<", CompareOp::Lt},
      {"<=", CompareOp::Le}, {">", CompareOp::Gt},  {">=", CompareOp::Ge},
      {"in", CompareOp::In}};
  for (const auto &[spelling, value] : simple)
    if (accept(spelling)) {
      op = value;
      return true;
    }
  if (accept("is")) {
    op = accept("not") ? CompareOp::IsNot : CompareOp::Is;
    return true;
  }
  if (at("not") && peek(1).is("in")) {
    next();
    next();
    op = CompareOp::NotIn;
    return true;
  }
  return false;
}

ExprPtr Parser::parseComparison() {
  SourceRange start = peek().range;
  ExprPtr left = parseBinary(0);
  CompareOp op;
  if (!parseCompareOp(op))
    return left;
  auto node = std::make_unique<Compare>();
  node->left = std::move(left);
  do {
    node->ops.push_back(op);
    node->comparators.push_back(parseBinary(0));
  } while (parseCompareOp(op));
  node->range = since(start);
  return node;
}

namespace {
struct Operator {
  std::string_view spelling;
  BinaryOp op;
  unsigned level; // higher binds tighter
};
} // namespace

static constexpr unsigned binaryLevels = 6;
static constexpr Operator binaryOperators[] = {
    {"|", BinaryOp::Or, 0},      {"^", BinaryOp::Xor, 1},
    {"&", BinaryOp::And, 2},     {"<<", BinaryOp::LShift, 3},
    {">>", BinaryOp::RShift, 3}, {"+", BinaryOp::Add, 4},
    {"-", BinaryOp::Sub, 4},     {"*", BinaryOp::Mul, 5},
    {"/", BinaryOp::Div, 5},     {"//", BinaryOp::FloorDiv, 5},
    {"%", BinaryOp::Mod, 5},     {"@", BinaryOp::MatMul, 5}};

static const Operator *binaryOperator(const Token &token) {
  if (token.kind != TokenKind::Operator)
    return nullptr;
  for (const Operator &op : binaryOperators)
    if (token.text == op.spelling)
      return &op;
  return nullptr;
}

// Parses operators of at least this level, by precedence climbing.
ExprPtr Parser::parseBinary(unsigned level) {
  SourceRange start = peek().range;
  ExprPtr left = parseUnary();
  while (const Operator *op = binaryOperator(peek())) {
    if (op->level < level)
      break;
    next();
    countLink();
    auto node = std::make_unique<BinOp>();
    node->op = op->op;
    node->left = std::move(left);
    node->right = op->level + 1 < binaryLevels ? parseBinary(op->level + 1)
                                               : parseUnary();
    node->range = since(start);
    left = std::move(node);
  }
  return left;
}

ExprPtr Parser::parseUnary() {
  UnaryOp op;
  if (at("-"))
    op = UnaryOp::Neg;
  else if (at("+"))
    op = UnaryOp::Pos;
  else if (at("~"))
    op = UnaryOp::Invert;
  else
    return parsePower();
  Deeper deeper(*this);
  SourceRange start = next().range;
  auto node = std::make_unique<UnaryOpExpr>();
  node->op = op;
  node->operand = parseUnary();
  node->range = since(start);
  return node;
}

// Parses `**`, which binds tighter than a sign on its left, and looser than one
// on its right.
ExprPtr Parser::parsePower() {
  SourceRange start = peek().range;
  ExprPtr left = parsePostfix();
  if (!at("**"))
    return left;
  Deeper deeper(*this);
  next();
  auto node = std::make_unique<BinOp>();
  node->op = BinaryOp::Pow;
  node->left = std::move(left);
  node->right = parseUnary();
  node->range = since(start);
  return node;
}

ExprPtr Parser::parsePostfix() {
  SourceRange start = peek().range;
  ExprPtr value = parseAtom();
  while (true) {
    if (at("(")) {
      countLink();
      value = parseCall(std::move(value));
    } else if (at("[")) {
      countLink();
      value = parseSubscript(std::move(value));
    } else if (at(".")) {
      countLink();
      next();
      const Token &name = expectName("an attribute");
      auto node = std::make_unique<Attribute>();
      node->value = std::move(value);
      node->attribute = std::string(name.text);
      node->attributeRange = name.range;
      value = std::move(node);
    } else {
      return value;
    }
    value->range = since(start);
  }
}

ExprPtr Parser::parseCall(ExprPtr function) {
  Deeper deeper(*this);
  next();
  auto node = std::make_unique<Call>();
  node->function = std::move(function);
  while (!at(")")) {
    SourceRange start = peek().range;
    if (at("**")) {
      if (functionDepth && !isHostFunction)
        unsupported(start, "`**` in a call", "write the arguments out");
      next();
      Keyword keyword; // without a name
      keyword.value = parseExpression();
      keyword.range = since(start);
      node->keywords.push_back(std::move(keyword));
      if (!accept(","))
        break;
      continue;
    }
    if (at("*")) {
      next();
      auto starred = std::make_unique<Starred>();
      starred->value = parseExpression();
      starred->range = since(start);
      node->arguments.push_back(std::move(starred));
    } else if (at(TokenKind::Name) && peek(1).is("=")) {
      Keyword keyword;
      keyword.name = std::string(next().text);
      next();
      for (const Keyword &other : node->keywords)
        if (other.name == keyword.name)
          report(DiagnosticId::DuplicateName, start,
                 "`" + keyword.name + "` is given twice", "remove one");
      keyword.value = parseExpression();
      keyword.range = since(start);
      node->keywords.push_back(std::move(keyword));
    } else {
      ExprPtr argument = parseExpression();
      if (at("for")) {
        auto generator = std::make_unique<Comprehension>();
        generator->form = ComprehensionKind::Generator;
        generator->element = std::move(argument);
        argument = finishComprehension(std::move(generator), start);
      }
      if (!node->keywords.empty())
        fail(DiagnosticId::SyntaxError, start,
             "a positional argument after a keyword argument",
             "give it a keyword, or move it to the front");
      node->arguments.push_back(std::move(argument));
    }
    if (!accept(","))
      break;
  }
  expect(")", "the arguments of the call");
  return node;
}

ExprPtr Parser::parseSubscript(ExprPtr value) {
  Deeper deeper(*this);
  next();
  auto node = std::make_unique<Subscript>();
  node->value = std::move(value);
  SourceRange start = peek().range;
  ExprPtr first = parseSubscriptItem();
  if (at(",")) {
    auto tuple = std::make_unique<TupleExpr>();
    tuple->elements.push_back(std::move(first));
    while (accept(",")) {
      if (at("]"))
        break;
      tuple->elements.push_back(parseSubscriptItem());
    }
    tuple->range = since(start);
    first = std::move(tuple);
  }
  node->index = std::move(first);
  expect("]", "the subscript");
  return node;
}

ExprPtr Parser::parseSubscriptItem() {
  SourceRange start = peek().range;
  ExprPtr lower;
  if (at("*"))
    unsupported(start, "`*` in a subscript", "write the indices out");
  if (!at(":")) {
    lower = parseExpression();
    if (!at(":"))
      return lower;
  }
  next();
  auto node = std::make_unique<Slice>();
  node->lower = std::move(lower);
  if (!at(":") && !at(",") && !at("]"))
    node->upper = parseExpression();
  if (accept(":") && !at(",") && !at("]"))
    node->step = parseExpression();
  node->range = since(start);
  return node;
}

ExprPtr Parser::parseAtom() {
  const Token &token = peek();
  auto constant = [&](Value value) {
    auto node = std::make_unique<Constant>(token.range);
    node->value = std::move(value);
    next();
    return node;
  };
  switch (token.kind) {
  case TokenKind::Name: {
    auto node = std::make_unique<Name>(token.range);
    node->id = std::string(token.text);
    next();
    return node;
  }
  case TokenKind::Number:
    return constant(list.values[token.value]);
  case TokenKind::String:
  case TokenKind::FormatOpen:
    return parseString();
  case TokenKind::Foreign:
    reportForeign(token);
  default:
    break;
  }
  if (token.is("("))
    return parseParenthesis();
  if (token.is("["))
    return parseListDisplay();
  if (token.is("{"))
    return parseDictDisplay();
  if (token.is("None"))
    return constant(Value());
  if (token.is("True"))
    return constant(true);
  if (token.is("False"))
    return constant(false);
  if (token.is("..."))
    return constant(Value::Named{"..."});
  if (token.is("yield") || token.is("await"))
    unsupported(token.range, "`" + std::string(token.text) + "`",
                "a kernel runs from top to bottom");
  unexpected("an expression");
}

ExprPtr Parser::parseString() {
  SourceRange start = peek().range;
  auto joined = std::make_unique<JoinedStr>();
  joined->texts.emplace_back();
  while (at(TokenKind::String) || at(TokenKind::FormatOpen)) {
    if (at(TokenKind::FormatOpen))
      parseFormatted(*joined);
    else
      joined->texts.back() += *list.values[next().value].get<std::string>();
  }
  joined->range = since(start);
  if (!joined->values.empty())
    return joined;
  auto node = std::make_unique<Constant>(joined->range);
  node->value = Value(std::move(joined->texts.back()));
  return node;
}

void Parser::parseFormatted(JoinedStr &node) {
  Deeper deeper(*this);
  next();
  while (!at(TokenKind::FormatClose)) {
    if (at(TokenKind::String)) {
      node.texts.back() += *list.values[next().value].get<std::string>();
      continue;
    }
    const char *from = peek().text.data() + 1;
    if (!accept("{"))
      unexpected("`{` in an f-string");
    countLink();
    node.values.push_back(parseExpressionList(/*allowStar=*/true));
    // {x=} gives the text of the expression, then its repr.
    bool repr = accept("=");
    if (repr)
      node.texts.back() += std::string(from, peek().text.data());
    if (at("!") && (peek(1).text == "r" || peek(1).text == "s")) {
      next();
      repr = next().text == "r";
    }
    if (!at("}"))
      unsupported(peek().range, "a format in an f-string",
                  "write {expression} alone");
    node.reprs.push_back(repr);
    node.texts.emplace_back();
    next();
  }
  next();
}

ExprPtr Parser::parseParenthesis() {
  Deeper deeper(*this);
  SourceRange start = next().range;
  if (accept(")"))
    return std::make_unique<TupleExpr>(since(start));
  SourceRange inner = peek().range;
  ExprPtr first = parseElement();
  if (at("for")) {
    auto node = std::make_unique<Comprehension>();
    node->form = ComprehensionKind::Generator;
    node->element = std::move(first);
    ExprPtr result = finishComprehension(std::move(node), inner);
    expect(")", "the generator");
    result->range = since(start);
    return result;
  }
  if (at(",")) {
    auto tuple = std::make_unique<TupleExpr>();
    tuple->elements.push_back(std::move(first));
    while (accept(",")) {
      if (at(")"))
        break;
      tuple->elements.push_back(parseElement());
    }
    expect(")", "the tuple");
    tuple->range = since(start);
    return tuple;
  }
  expect(")", "the expression");
  if (first->is<Starred>())
    fail(DiagnosticId::SyntaxError, first->range, "`*` outside of a tuple",
         "write (*x,) for a tuple");
  if (auto *operation = first->as<BinOp>())
    operation->parenthesized = true;
  return first;
}

ExprPtr Parser::parseListDisplay() {
  Deeper deeper(*this);
  SourceRange start = next().range;
  auto node = std::make_unique<ListExpr>();
  while (!at("]")) {
    ExprPtr element = parseElement();
    if (at("for") && node->elements.empty()) {
      auto comprehension = std::make_unique<Comprehension>();
      comprehension->element = std::move(element);
      ExprPtr result = finishComprehension(std::move(comprehension), start);
      expect("]", "the comprehension");
      result->range = since(start);
      return result;
    }
    node->elements.push_back(std::move(element));
    if (!accept(","))
      break;
  }
  expect("]", "the list");
  node->range = since(start);
  return node;
}

ExprPtr Parser::parseDictDisplay() {
  Deeper deeper(*this);
  SourceRange start = next().range;
  if (functionDepth && !isHostFunction)
    unsupported(start, "a dict or set inside a kernel",
                "use separate variables");
  auto node = std::make_unique<DictExpr>();
  while (!at("}")) {
    if (accept("**")) {
      node->keys.push_back(nullptr);
      node->values.push_back(parseOr());
    } else {
      ExprPtr key = parseElement();
      if (at("for")) // a set, whose order is not defined
        unsupported(peek().range, "a set comprehension",
                    "write a list: [... for x in ...]");
      if (!at(":")) { // a set: only its elements matter
        auto set = std::make_unique<ListExpr>();
        set->elements.push_back(std::move(key));
        while (accept(",") && !at("}"))
          set->elements.push_back(parseElement());
        expect("}", "the set");
        set->range = since(start);
        return set;
      }
      next();
      ExprPtr value = parseExpression();
      if (at("for") && node->keys.empty()) {
        auto comprehension = std::make_unique<Comprehension>();
        comprehension->form = ComprehensionKind::Dict;
        comprehension->key = std::move(key);
        comprehension->element = std::move(value);
        ExprPtr result = finishComprehension(std::move(comprehension), start);
        expect("}", "the comprehension");
        result->range = since(start);
        return result;
      }
      node->keys.push_back(std::move(key));
      node->values.push_back(std::move(value));
    }
    if (!accept(","))
      break;
  }
  expect("}", "the dict");
  node->range = since(start);
  return node;
}

// Parses names to bind: `a` or `(a, b)`. `in` is not an operator here.
ExprPtr Parser::parseTargetList() {
  SourceRange start = peek().range;
  if (at("*"))
    unsupported(start, "`*` before a target", "name every variable");
  ExprPtr first = parseBinary(0);
  if (!at(","))
    return first;
  auto tuple = std::make_unique<TupleExpr>();
  tuple->elements.push_back(std::move(first));
  while (accept(",")) {
    if (at("in"))
      break;
    tuple->elements.push_back(parseBinary(0));
  }
  tuple->range = since(start);
  return tuple;
}

void Parser::parseClauses(Comprehension &node) {
  while (at("for")) {
    countLink();
    next();
    ComprehensionClause clause;
    clause.target = parseTargetList();
    checkIterationTarget(*clause.target);
    if (!at("in"))
      unexpected("`in`");
    next();
    clause.iterable = parseOr();
    while (accept("if"))
      clause.conditions.push_back(parseOr());
    node.clauses.push_back(std::move(clause));
  }
}

ExprPtr Parser::finishComprehension(std::unique_ptr<Comprehension> node,
                                    SourceRange start) {
  if (functionDepth && !isHostFunction && node->form != ComprehensionKind::List)
    unsupported(peek().range, "this comprehension inside a kernel",
                "write [... for x in ...], or a loop over tl.static_range");
  if (node->element->is<Starred>())
    fail(DiagnosticId::SyntaxError, node->element->range,
         "`*` in a comprehension", "add another `for`");
  parseClauses(*node);
  node->range = since(start);
  return node;
}

} // namespace tessera::language
