// language/pattern/Symbol.h - expressions over the parameters of a pattern
// function, without assignments and calls of other functions.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// straighten() (Straighten.h) makes a symbol of a function; the analysis of
// visibility and the derivation of gradients read symbols.
#pragma once

#include "language/Tree.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tessera::language {

struct Symbol;
using SymbolPtr = std::shared_ptr<const Symbol>;

enum class SymbolKind {
  Name,     // a parameter or a module constant
  Constant, // a literal, or computed from literals
  Binary,   // binary(operands 0, 1)
  Negate,   // -x
  Invert,   // ~x
  Not,      // not x
  And,      // x and y
  Or,       // x or y
  Compare,  // compare(operands 0, 1)
  Call,     // `name` of operands; an empty name is an unknown function
  Cast,     // x.to(name), with the short name of the type
  Choice,   // operands 1 if 0 else 2, where 0 is known at run time only
  Opaque,   // not analysed
};

struct Symbol {
  SymbolKind kind = SymbolKind::Opaque;
  // Of Name; of Call without its module: "minimum"; of Cast: "fp32".
  std::string name;
  std::string written; // of Call and Cast, as in the source: "tl.minimum"
  Value value;         // of Constant
  BinaryOp binary = BinaryOp::Add;
  CompareOp compare = CompareOp::Lt;
  std::vector<SymbolPtr> operands;
  std::vector<std::string> keywords; // of Call: names of the last operands
  // Where the expression is written; an unknown range for derived symbols.
  SourceRange range;
  size_t size = 1; // of the text, in symbols
  // A name or a `return` made it a number of the run time, even if it consists
  // of compile-time values alone: its `//` and `%` truncate (RunTimeNumbers.h).
  bool isRunTime = false;

  Symbol() = default;
  Symbol(SymbolKind kind, SourceRange range, std::vector<SymbolPtr> operands);
};

// Each returns a constant where Python computes one from constants.
SymbolPtr makeName(std::string name, SourceRange range = {});
SymbolPtr makeConstant(Value value, SourceRange range = {});
SymbolPtr makeBinary(BinaryOp op, SymbolPtr a, SymbolPtr b,
                     SourceRange range = {});
SymbolPtr makeUnary(SymbolKind kind, SymbolPtr a, SourceRange range = {});
SymbolPtr makeLogic(SymbolKind kind, SymbolPtr a, SymbolPtr b,
                    SourceRange range = {});
SymbolPtr makeCompare(CompareOp op, SymbolPtr a, SymbolPtr b,
                      SourceRange range = {});
// value.to(type), written as in the source.
SymbolPtr makeCast(SymbolPtr value, std::string type, std::string written,
                   SourceRange range = {});
// The value after a name or a `return` received it, see isRunTime.
SymbolPtr makeRunTime(const SymbolPtr &value);
// a if condition else b
SymbolPtr makeChoice(SymbolPtr condition, SymbolPtr a, SymbolPtr b,
                     SourceRange range = {});
SymbolPtr makeCall(std::string name, std::string written,
                   std::vector<SymbolPtr> operands, SourceRange range = {});

// Returns !(a op b) as an operator: Ge for Lt.
CompareOp negated(CompareOp op);

// How strongly the outermost operator of a text binds, as in Python.
enum class Binding {
  Choice,
  Or,
  And,
  Not,
  Compare,
  BitOr,
  BitXor,
  BitAnd,
  Shift,
  Sum,
  Product,
  Sign,
  Power,
  Atom,
};

// A text and what its outermost operator is.
struct Phrase {
  std::string text;
  Binding binding = Binding::Atom;

  // The text, in parentheses if its operator binds weaker than `least`.
  std::string in(Binding least) const;
};
// a op b, with parentheses where they are needed.
Phrase joinPhrases(const Phrase &a, BinaryOp op, const Phrase &b);
// a op b op c; at least one operand.
Phrase joinAll(const std::vector<Phrase> &operands, BinaryOp op);

// Python text with few parentheses. Symbols in `named` are printed as the name
// that they have there.
using SymbolNames = std::map<const Symbol *, std::string>;
Phrase print(const Symbol &symbol, const SymbolNames *named = nullptr);
std::string printText(const SymbolPtr &symbol);

// True if the symbol mentions one of the names. What is not analysed counts as
// a mention.
bool mentions(const Symbol &symbol, const std::vector<std::string> &names);

} // namespace tessera::language
