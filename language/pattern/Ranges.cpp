// language/pattern/Ranges.cpp - solves the cases of a formula for a variable.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/pattern/Ranges.h"

#include <algorithm>

namespace tessera::language {

namespace {

// Bounds of the solved variable: at least each of `firsts`, less than each of
// `pasts`. The span is empty if one of `conditions` is false.
struct Span {
  std::vector<std::string> firsts, pasts;
  std::vector<Phrase> conditions;
  bool isNatural = false; // one of the firsts is never negative
  bool isSolved = true;   // for all conditions of the case
};

void addOnce(std::vector<std::string> &list, std::string text) {
  if (std::find(list.begin(), list.end(), text) == list.end())
    list.push_back(std::move(text));
}

std::string nest(const std::string &function,
                 const std::vector<std::string> &operands) {
  std::string text = operands.at(0);
  for (size_t i = 1; i < operands.size(); ++i)
    text = function + "(" + text + ", " + operands[i] + ")";
  return text;
}

class RangeWriter {
public:
  RangeWriter(Variables solved, const std::string &length, BoundWriter &writer)
      : solved(solved), length(length), writer(writer) {}

  RangeText write(const AnalyzedFormula &analyzed) {
    RangeText text;
    text.positive = analyzed.positive;
    const auto cases = casesOf(*analyzed.formula);
    if (!cases) {
      text.first = text.fullFirst = text.fullPast = "0";
      text.past = length;
      return text;
    }
    std::vector<Span> some, all;
    std::vector<Case> possible;
    for (const Case &one : *cases) {
      Case more = one;
      if (!addConsequences(more))
        continue;
      possible.push_back(one);
      some.push_back(spanOf(more, false));
      if (Span span = spanOf(one, true); span.isSolved)
        all.push_back(std::move(span));
    }
    const bool isNested = unite(some, "hull_of_ranges", text.first, text.past);
    unite(all, "longer_range", text.fullFirst, text.fullPast);
    text.gaps = hasGaps(possible, isNested);
    for (Phrase &value : positive)
      text.positive.push_back(std::move(value));
    return text;
  }

private:
  // Returns the values of the variable for which the case holds for some
  // combination of the other variables; with `every`, for all combinations.
  Span spanOf(const Case &one, bool every) {
    Span span;
    span.isSolved = !one.unknown;
    // Bounds of blocks come last: they are omitted if a tighter bound exists.
    for (bool isBlock : {false, true})
      for (const Case::Literal &literal : one.literals)
        if (hasQuotient(literal.form) == isBlock &&
            !solve(literal, every, span))
          span.isSolved = false;
    for (const SymbolPtr &uniform : one.uniforms)
      addCondition(span, print(*uniform));
    return span;
  }

  static bool hasQuotient(const Affine &form) {
    return std::any_of(
        form.terms.begin(), form.terms.end(),
        [](const Term &term) { return term.atom->kind == AtomKind::Quotient; });
  }

  static void addCondition(Span &span, Phrase condition) {
    if (std::none_of(
            span.conditions.begin(), span.conditions.end(),
            [&](const Phrase &other) { return other.text == condition.text; }))
      span.conditions.push_back(std::move(condition));
  }

  bool solve(const Case::Literal &literal, bool every, Span &span) {
    const Term *term = nullptr;
    for (const Term &other : literal.form.terms)
      if (other.atom->variables & solved) {
        if (term)
          return false;
        term = &other;
      }
    if (!term) {
      addCondition(span,
                   writer.atMostZero(literal.form, every, literal.strict));
      return true;
    }
    const Atom &atom = *term->atom;
    const Affine rest =
        addScaled(literal.form, affineOf(term->atom), -term->factor);
    const bool isUnit = term->factor == 1 || term->factor == -1;
    const bool isUpper = term->factor > 0;
    switch (atom.kind) {
    case AtomKind::Variable:
      if (isUnit)
        addBound(span, isUpper,
                 isUpper ? addScaled(affineOf(Int(1)), rest, -1) : rest, every);
      else
        return addDivided(span, isUpper, rest,
                          {printInt(isUpper ? term->factor : -term->factor)},
                          every);
      return true;
    case AtomKind::Scaled:
      if (!isUnit || !isSolvedVariable(atom.operands[0]))
        return false;
      positive.push_back(atom.uniform);
      return addDivided(span, isUpper, rest, atom.uniform, every);
    case AtomKind::Quotient:
      return isUnit && solveQuotient(atom, isUpper, rest, every, span);
    default:
      return false;
    }
  }

  bool isSolvedVariable(const Affine &form) const {
    return form.constant == 0 && form.terms.size() == 1 &&
           form.terms[0].factor == 1 &&
           form.terms[0].atom->kind == AtomKind::Variable &&
           form.terms[0].atom->variables == unsigned(solved);
  }

  // Adds variable < bound, or variable >= bound.
  void addBound(Span &span, bool isUpper, const Affine &form, bool every) {
    if (isUpper)
      return addOnce(span.pasts, writer.positionBound(form, !every).text);
    span.isNatural |= isNeverNegative(form);
    addOnce(span.firsts, writer.positionBound(form, every).text);
  }

  // Adds factor * variable + rest <= 0, or rest - factor * variable <= 0.
  // Returns false if a sum of parameters may not fit int32: its quotient may be
  // a position.
  bool addDivided(Span &span, bool isUpper, const Affine &rest,
                  const Phrase &factor, bool every) {
    if (rest.uniformSize > largestInt32)
      return false;
    if (isUpper) {
      const Phrase most = writer.callHelper(
          "floor_quotient",
          {writer.bound(scaled(rest, -1), !every).text, factor.text});
      addOnce(span.pasts, most.text + " + 1");
      return true;
    }
    addOnce(span.firsts,
            writer
                .callHelper("ceiling_quotient",
                            {writer.bound(rest, every).text, factor.text})
                .text);
    return true;
  }

  // Adds x // m + rest <= 0, or rest - x // m <= 0. Returns false if it is not
  // solved.
  bool solveQuotient(const Atom &atom, bool isUpper, const Affine &rest,
                     bool every, Span &span) {
    const Affine &x = atom.operands[0];
    if (isSolvedVariable(x)) {
      const Affine blocks =
          isUpper ? addScaled(affineOf(Int(1)), rest, -1) : rest;
      const Phrase block = writer.positionBound(blocks, isUpper != every);
      const Phrase bound =
          isNextToABlock(blocks, atom)
              ? joinPhrases(block, BinaryOp::Mul, atom.uniform)
              : writer.callHelper("start_of_block",
                                  {block.text, atom.uniform.text});
      span.isNatural |= !isUpper && isNeverNegative(blocks);
      if (!isOwnBlock(span, isUpper, blocks, every))
        addOnce(isUpper ? span.pasts : span.firsts, bound.text);
      return true;
    }
    // x = sign * variable + offset
    Int sign = 0;
    Affine offset = x;
    for (const Term &term : x.terms)
      if (term.atom->variables & solved) {
        if (term.atom->kind != AtomKind::Variable || sign != 0)
          return false;
        sign = term.factor;
        offset = addScaled(x, affineOf(term.atom), -sign);
      }
    if (sign != 1 && sign != -1)
      return false;
    // The largest (or smallest) x that satisfies the inequality.
    const Affine quotient = isUpper ? scaled(rest, -1) : rest;
    const Phrase end = writer.callHelper(
        isUpper ? "last_of_quotient" : "first_of_quotient",
        {writer.positionBound(quotient, isUpper != every).text,
         atom.uniform.text});
    const bool offsetHigh = isUpper == every;
    if (sign > 0) { // variable <= end - offset, or >=
      Affine shift = offset;
      shift.constant -= isUpper ? 1 : 0;
      addOnce(isUpper ? span.pasts : span.firsts,
              difference(end, writer.positionBound(shift, offsetHigh)));
    } else { // variable >= offset - end, or <=
      Affine shift = offset;
      shift.constant += isUpper ? 0 : 1;
      addOnce(isUpper ? span.firsts : span.pasts,
              difference(writer.positionBound(shift, offsetHigh), end));
    }
    return true;
  }

  // True for y // m, y // m + 1 and y // m - 1, where y is a position and m the
  // divisor of `atom`. The product with m is then less than y + m and fits into
  // int32. A parameter, as in y // m - 2**30, may be much larger.
  static bool isNextToABlock(const Affine &blocks, const Atom &atom) {
    if (blocks.terms.empty() && blocks.constant == 0)
      return true;
    if (blocks.constant < -1 || blocks.constant > 1 ||
        blocks.terms.size() != 1 || blocks.terms[0].factor != 1)
      return false;
    const Atom &of = *blocks.terms[0].atom;
    return of.kind == AtomKind::Quotient &&
           of.uniform.text == atom.uniform.text && isPosition(of.operands[0]);
  }

  static bool isPosition(const Affine &form) {
    return form.constant == 0 && form.terms.size() == 1 &&
           form.terms[0].factor == 1 &&
           form.terms[0].atom->kind == AtomKind::Variable;
  }

  // True if the span already has the bound t, and `blocks` is t // m (or t + 1
  // and t // m + 1), whose block does not end before it.
  bool isOwnBlock(const Span &span, bool isUpper, const Affine &blocks,
                  bool every) {
    if (blocks.constant != (isUpper ? 1 : 0) || blocks.terms.size() != 1 ||
        blocks.terms[0].factor != 1 ||
        blocks.terms[0].atom->kind != AtomKind::Quotient)
      return false;
    Affine inner = blocks.terms[0].atom->operands[0];
    if (!isNeverNegative(inner))
      return false;
    inner.constant += blocks.constant;
    const std::vector<std::string> &list = isUpper ? span.pasts : span.firsts;
    return std::find(list.begin(), list.end(),
                     writer.bound(inner, isUpper != every).text) != list.end();
  }

  static std::string difference(const Phrase &a, const Phrase &b) {
    if (b.text == "0")
      return a.text;
    if (b.text.starts_with("-") && b.binding == Binding::Sign)
      return joinPhrases(a, BinaryOp::Add, {b.text.substr(1)}).text;
    return joinPhrases(a, BinaryOp::Sub, b).text;
  }

  std::string firstOf(const Span &span) const {
    return span.firsts.empty() ? "0" : nest("tl.maximum", span.firsts);
  }

  std::string pastOf(const Span &span) const {
    return span.pasts.empty() ? length : nest("tl.minimum", span.pasts);
  }

  // Returns `bound`, or `otherwise` where a condition of the span is false.
  static std::string guarded(const Span &span, const std::string &bound,
                             const std::string &otherwise) {
    if (span.conditions.empty())
      return bound;
    const Phrase all = joinAll(span.conditions, BinaryOp::And);
    return "tl.where(" + all.text + ", " + bound + ", " + otherwise + ")";
  }

  // Returns clipped bounds of the union of the spans: with hull_of_ranges, of
  // the smallest range that contains the union; with longer_range, of a range
  // inside it. Returns true if all spans have the same start, or all have the
  // same end.
  bool unite(const std::vector<Span> &spans, const std::string &helper,
             std::string &first, std::string &past) {
    if (spans.empty()) {
      first = past = "0";
      return true;
    }
    bool isNatural = true, isClipped = true, sameFirst = true, samePast = true;
    for (const Span &span : spans) {
      isNatural &= span.isNatural || span.firsts.empty();
      isClipped &= span.pasts.empty();
      sameFirst &= firstOf(span) == firstOf(spans[0]);
      samePast &= pastOf(span) == pastOf(spans[0]);
    }
    // A span with a false condition is empty: it ends at 0, or starts at its
    // end.
    const bool endsAtZero = sameFirst || !samePast;
    std::vector<std::string> firsts, pasts;
    for (const Span &span : spans) {
      const std::string start = firstOf(span), stop = pastOf(span);
      // The end of an empty span may be negative.
      isNatural &= endsAtZero || span.conditions.empty() || stop == length;
      addOnce(firsts, endsAtZero ? start : guarded(span, start, stop));
      addOnce(pasts, endsAtZero ? guarded(span, stop, "0") : stop);
    }
    if (sameFirst || samePast) {
      first = nest("tl.minimum", firsts);
      past = nest("tl.maximum", pasts);
    } else {
      fold(spans, helper, first, past);
    }
    if (!isNatural)
      first = "tl.maximum(" + first + ", 0)";
    if (!isClipped)
      past = "tl.minimum(" + past + ", " + length + ")";
    return sameFirst || samePast;
  }

  // Joins the spans by calls of `helper`.
  void fold(const std::vector<Span> &spans, const std::string &helper,
            std::string &first, std::string &past) {
    for (size_t i = 0; i < spans.size(); ++i) {
      const std::string start = firstOf(spans[i]);
      const std::string stop = guarded(spans[i], pastOf(spans[i]), "0");
      if (i == 0) {
        first = start;
        past = stop;
        continue;
      }
      const Phrase call = writer.callHelper(helper, {first, past, start, stop});
      first = writer.freshName("start");
      past = writer.freshName("stop");
      writer.lines.push_back(first + ", " + past + " = " + call.text);
    }
  }

  // Contiguity. ---------------------------------------------------------------

  bool hasGaps(const std::vector<Case> &cases, bool isNested) const {
    if (std::all_of(cases.begin(), cases.end(), hasDiagonal))
      return false;
    return !isNested || !std::all_of(cases.begin(), cases.end(), isConvex);
  }

  // Returns "" for a variable, the divisor for variable // divisor, otherwise
  // nullopt.
  static std::optional<std::string> scaleOf(const Atom &atom) {
    if (atom.kind == AtomKind::Variable)
      return "";
    if (atom.kind != AtomKind::Quotient)
      return std::nullopt;
    const Affine &x = atom.operands[0];
    if (x.constant != 0 || x.terms.size() != 1 || x.terms[0].factor != 1 ||
        x.terms[0].atom->kind != AtomKind::Variable)
      return std::nullopt;
    return atom.uniform.text;
  }

  // True if the literals compare t, pos and t - pos, or all of them t // m, pos
  // // m and their difference. The positions that a contiguous range sees are
  // contiguous then.
  static bool isConvex(const Case &one) {
    std::optional<std::string> scale;
    for (const Case::Literal &literal : one.literals) {
      Int sum = 0;
      size_t count = 0;
      for (const Term &term : literal.form.terms) {
        if (term.atom->variables == NoVariable)
          continue;
        const auto own = scaleOf(*term.atom);
        const bool isUnit = term.factor == 1 || term.factor == -1;
        if (!own || !isUnit || term.atom->variables == Head ||
            (scale && *scale != *own))
          return false;
        scale = own;
        sum += term.factor;
        ++count;
      }
      if (count > 2 || (count == 2 && sum != 0))
        return false;
    }
    return !one.unknown;
  }

  // True if each literal compares positions of one scale with factors that
  // cancel for t = pos. Then each position sees itself and a contiguous range
  // around itself, with ends that grow with the position, whatever the head.
  static bool hasDiagonal(const Case &one) {
    for (const Case::Literal &literal : one.literals) {
      std::map<std::string, Int> sums;
      for (const Term &term : literal.form.terms) {
        if (!(term.atom->variables & (Query | Key)))
          continue;
        const auto scale = scaleOf(*term.atom);
        if (!scale)
          return false;
        sums[*scale] += term.factor;
      }
      if (sums.size() > 1)
        return false;
      for (const auto &[scale, sum] : sums)
        if (sum != 0)
          return false;
      const bool isConstant =
          std::all_of(literal.form.terms.begin(), literal.form.terms.end(),
                      [](const Term &term) {
                        return term.atom->variables & (Query | Key);
                      });
      if (isConstant && literal.form.constant > 0)
        return false;
    }
    return !one.unknown;
  }

  const Variables solved;
  const std::string &length;
  BoundWriter &writer;
  std::vector<Phrase> positive;
};

} // namespace

RangeText rangeOf(const AnalyzedFormula &analyzed, Variables solved,
                  const std::string &length, BoundWriter &writer) {
  return RangeWriter(solved, length, writer).write(analyzed);
}

} // namespace tessera::language
