// language/pattern/BoundWriter.cpp - writes the text of bounds of forms.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/pattern/Affine.h"

#include <algorithm>

namespace tessera::language {

static size_t indexOf(unsigned variable) {
  return variable == Query ? 0 : variable == Key ? 1 : 2;
}

std::string BoundWriter::freshName(const std::string &name) {
  std::string result = name;
  for (unsigned number = 2;
       std::find(taken.begin(), taken.end(), result) != taken.end(); ++number)
    result = name + std::to_string(number);
  taken.push_back(result);
  return result;
}

Phrase BoundWriter::callHelper(const std::string &name,
                               const std::vector<std::string> &arguments) {
  if (std::find(helpers.begin(), helpers.end(), name) == helpers.end())
    helpers.push_back(name);
  std::string text;
  for (const std::string &argument : arguments)
    text += (text.empty() ? "" : ", ") + argument;
  return {name + "(" + text + ")"};
}

Phrase BoundWriter::helperBound(const std::string &helper,
                                const std::vector<std::string> &arguments,
                                bool high) {
  const std::string call = callHelper(helper, arguments).text;
  auto known = pairs.find(call);
  if (known == pairs.end()) {
    const std::string low = freshName("low"), top = freshName("high");
    lines.push_back(low + ", " + top + " = " + call);
    known = pairs.emplace(call, std::make_pair(low, top)).first;
  }
  return {high ? known->second.second : known->second.first};
}

std::string BoundWriter::limitedBound(const Affine &form, bool high) {
  std::string text = bound(form, high).text;
  const auto known = limits.find(form.key());
  if (known == limits.end())
    return text;
  for (const Affine &limit : high ? known->second.most : known->second.least)
    text = std::string(high ? "tl.minimum(" : "tl.maximum(") + text + ", " +
           (limit.uniformSize > largestInt32 && limit.hasCompileTimeUniforms()
                ? limited(bound(limit, high),
                          limit.uniformSize + magnitude(limit.constant),
                          largestInt32)
                : bound(limit, high))
               .text +
           ")";
  return text;
}

Phrase BoundWriter::atomBound(const Atom &atom, bool high) {
  auto side = [&](size_t i, bool up) {
    return bound(atom.operands[i], up).text;
  };
  switch (atom.kind) {
  case AtomKind::Variable: {
    const size_t at = indexOf(atom.variables);
    return {high ? bounds.high[at] : bounds.low[at]};
  }
  case AtomKind::Uniform:
    return atom.uniform;
  case AtomKind::Quotient:
    return joinPhrases(bound(atom.operands[0], high), BinaryOp::FloorDiv,
                       atom.uniform);
  case AtomKind::Remainder:
    return helperBound("remainder_bounds",
                       {limitedBound(atom.operands[0], false),
                        limitedBound(atom.operands[0], true),
                        atom.uniform.text},
                       high);
  case AtomKind::Minimum:
    return {"tl.minimum(" + side(0, high) + ", " + side(1, high) + ")"};
  case AtomKind::Maximum:
    return {"tl.maximum(" + side(0, high) + ", " + side(1, high) + ")"};
  case AtomKind::Choice:
    return {std::string(high ? "tl.maximum(" : "tl.minimum(") + side(0, high) +
            ", " + side(1, high) + ")"};
  case AtomKind::Scaled:
    return helperBound("scaled_bounds",
                       {side(0, false), side(0, true), atom.uniform.text},
                       high);
  case AtomKind::Product:
    return helperBound(
        "product_bounds",
        {side(0, false), side(0, true), side(1, false), side(1, true)}, high);
  }
  return {};
}

BoundWriter::Piece BoundWriter::piece(const Term &term, bool high) {
  return {term.factor, atomBound(*term.atom, high == (term.factor > 0)),
          term.atom->variables};
}

Phrase BoundWriter::sum(const std::vector<Piece> &pieces, Int constant) {
  Phrase result;
  auto add = [&](bool negative, Phrase text) {
    if (!result.text.empty())
      result =
          joinPhrases(result, negative ? BinaryOp::Sub : BinaryOp::Add, text);
    else if (negative)
      result = {"-" + text.in(Binding::Sign), Binding::Sign};
    else
      result = std::move(text);
  };
  auto addAll = [&](bool negative) {
    for (const Piece &piece : pieces) {
      if ((piece.factor < 0) != negative)
        continue;
      const Int size = negative ? -piece.factor : piece.factor;
      add(negative,
          size == 1 ? piece.text
                    : joinPhrases({printInt(size)}, BinaryOp::Mul, piece.text));
    }
  };
  addAll(false);
  // Writes `3 - t`, not `-t + 3`.
  const bool constantFirst = result.text.empty() && constant > 0;
  if (constantFirst)
    add(false, {printInt(constant)});
  addAll(true);
  if (!constantFirst && (constant != 0 || result.text.empty()))
    add(constant < 0, {printInt(constant < 0 ? -constant : constant)});
  return result;
}

Phrase BoundWriter::bound(const Affine &form, bool high) {
  std::vector<Piece> pieces;
  // Writes terms that vary first: `t0 - window`.
  for (bool varies : {true, false})
    for (const Term &term : form.terms)
      if ((term.atom->variables != NoVariable) == varies)
        pieces.push_back(piece(term, high));
  return sum(pieces, form.constant);
}

Phrase BoundWriter::limited(const Phrase &value, Int size, Int most) {
  const std::string text = value.in(Binding::BitOr), limit = printInt(most);
  std::string result =
      value.text + " if " + text + " < " + limit + " else " + limit;
  if (size > most + 1)
    result = "-" + limit + " if " + text + " < -" + limit + " else " + result;
  auto known = limitNames.find(result);
  if (known == limitNames.end()) {
    const std::string name = freshName("limit");
    lines.push_back(name + ": tl.constexpr = " + result);
    known = limitNames.emplace(result, name).first;
  }
  return {known->second};
}

Phrase BoundWriter::positionBound(const Affine &form, bool high) {
  const bool varies = form.variables() != NoVariable;
  const Int most = varies ? parameterSize + parameterSize / 4 : largestInt32;
  if (form.uniformSize <= most || !form.hasCompileTimeUniforms())
    return bound(form, high);
  Affine uniform = affineOf(form.constant), varying;
  for (const Term &term : form.terms)
    (term.atom->variables == NoVariable ? uniform : varying)
        .terms.push_back(term);
  const Phrase limit =
      limited(bound(uniform, high), form.uniformSize + magnitude(form.constant),
              parameterSize);
  return varies ? joinPhrases(bound(varying, high), BinaryOp::Add, limit)
                : limit;
}

Phrase BoundWriter::atMostZero(const Affine &form, bool high, bool strict) {
  strict = form.constant == 1 || (strict && form.constant != 0);
  Int constant = form.constant - (strict ? 1 : 0);
  // Writes left (op) right; the terms of `right` have the opposite sign.
  std::vector<Piece> left, right;
  const bool isUniform = form.variables() == NoVariable;
  size_t negatives = 0;
  for (const Term &term : form.terms) {
    Piece one = piece(term, high);
    const bool isBound = isUniform || one.variables != NoVariable;
    negatives += isBound && one.factor < 0;
    (isBound ? left : right).push_back(std::move(one));
  }
  bool flip;
  if (right.empty() && constant == 0) {
    // Puts each term on the side where it is positive.
    flip = negatives == left.size();
    if (!flip)
      for (size_t i = left.size(); i-- > 0;)
        if (left[i].factor < 0) {
          right.insert(right.begin(), left[i]);
          left.erase(left.begin() + ptrdiff_t(i));
        }
  } else if (right.empty() && negatives != 0 && negatives != left.size()) {
    flip = constant > 0; // a positive number on the right
  } else {
    auto first = std::find_if(left.begin(), left.end(), [](const Piece &one) {
      return one.variables & Query;
    });
    flip = (first == left.end() ? left.front() : *first).factor < 0;
  }
  for (Piece &one : flip ? left : right)
    one.factor = -one.factor;
  const std::string op = std::string(flip ? ">" : "<") + (strict ? "" : "=");
  Phrase other = sum(right, flip ? constant : -constant);
  // A condition that `sees` itself evaluates has a sum that fits.
  if (!isUniform && form.uniformSize > largestInt32 &&
      form.hasCompileTimeUniforms())
    other =
        limited(other, form.uniformSize + magnitude(constant), largestInt32);
  return {sum(left, 0).in(Binding::BitOr) + " " + op + " " +
              other.in(Binding::BitOr),
          Binding::Compare};
}

} // namespace tessera::language
