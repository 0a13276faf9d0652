// language/pattern/Visibility.cpp - writes sees_tile, key_range and
// query_range.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/pattern/Visibility.h"

#include "language/Parser.h"
#include "language/pattern/Ranges.h"
#include "language/pattern/Straighten.h"
#include "language/pattern/UniformType.h"
#include "support/Error.h"

#include <algorithm>

namespace tessera::language {

namespace {

using Conditions = std::vector<Phrase>;

bool includes(const Conditions &all, const Phrase &one) {
  return std::any_of(all.begin(), all.end(), [&](const Phrase &other) {
    return other.text == one.text;
  });
}

// Removes redundant groups: in a | (a & b), the second.
std::vector<Conditions> absorbed(const std::vector<Conditions> &groups) {
  std::vector<Conditions> kept;
  auto isWithin = [](const Conditions &small, const Conditions &large) {
    return std::all_of(small.begin(), small.end(),
                       [&](const Phrase &one) { return includes(large, one); });
  };
  for (size_t i = 0; i < groups.size(); ++i) {
    bool isRedundant = false;
    for (size_t j = 0; j < groups.size(); ++j)
      isRedundant |= j != i && isWithin(groups[j], groups[i]) &&
                     (j < i || !isWithin(groups[i], groups[j]));
    if (!isRedundant)
      kept.push_back(groups[i]);
  }
  return kept;
}

// Joins the groups by `outer` and the conditions of a group by `inner`. Factors
// out the conditions of all groups: a & (b | c).
Phrase factored(const std::vector<Conditions> &all, BinaryOp inner,
                BinaryOp outer) {
  const std::vector<Conditions> groups = absorbed(all);
  Conditions common, rests;
  for (const Phrase &one : groups.at(0))
    if (std::all_of(groups.begin(), groups.end(), [&](const Conditions &group) {
          return includes(group, one);
        }))
      common.push_back(one);
  for (const Conditions &group : groups) {
    Conditions rest;
    for (const Phrase &one : group)
      if (!includes(common, one))
        rest.push_back(one);
    if (!rest.empty())
      rests.push_back(joinAll(rest, inner));
  }
  if (!rests.empty())
    common.push_back(joinAll(rests, outer));
  return joinAll(common, inner);
}

// Returns limits of forms x in x % m, from literals of the case that compare x
// with a uniform value.
std::map<std::string, BoundWriter::Limits> limitsOf(const Case &one) {
  std::map<std::string, BoundWriter::Limits> limits;
  for (const Case::Literal &literal : one.literals)
    for (const Term &term : literal.form.terms) {
      if (term.atom->kind != AtomKind::Remainder)
        continue;
      const Affine &x = term.atom->operands[0];
      BoundWriter::Limits own;
      for (const Case::Literal &other : one.literals) {
        // x + rest <= 0, or rest - x <= 0
        const Affine rest = addScaled(other.form, x, -1);
        const Affine negative = addScaled(other.form, x, 1);
        if (rest.variables() == NoVariable)
          own.most.push_back(scaled(rest, -1));
        // Without this limit, the remainder of a natural number is still
        // natural.
        else if (negative.variables() == NoVariable &&
                 !(negative.terms.empty() && negative.constant <= 0))
          own.least.push_back(negative);
      }
      limits[x.key()] = std::move(own);
    }
  return limits;
}

// Returns the condition that some element of the tile (with `every`, each)
// satisfies the formula: "True", "False" or a condition on bounds.
Phrase tileCondition(const FormulaPtr &formula, bool every,
                     BoundWriter &writer) {
  // All elements satisfy the formula if none satisfies its negation.
  const auto cases = casesOf(every ? *negateFormula(formula) : *formula);
  if (!cases)
    return {every ? "False" : "True"};
  std::vector<Conditions> groups;
  for (Case one : *cases) {
    if (!addConsequences(one))
      continue;
    Conditions conditions;
    writer.limits = limitsOf(one);
    for (const Case::Literal &literal : one.literals) {
      Affine form = literal.form;
      if (every) { // not (lowest <= 0) is highest of 1 - form <= 0
        form = scaled(form, -1);
        form.constant += 1;
      }
      Phrase text = writer.atMostZero(form, every, literal.strict != every);
      if (!includes(conditions, text))
        conditions.push_back(std::move(text));
    }
    for (const SymbolPtr &uniform : one.uniforms)
      conditions.push_back(print(*(
          every ? negateFormula(uniformFormula(uniform))->uniform : uniform)));
    if (conditions.empty()) {
      writer.limits.clear();
      return {every ? "False" : "True"};
    }
    groups.push_back(std::move(conditions));
  }
  writer.limits.clear();
  if (groups.empty())
    return {every ? "True" : "False"};
  return every ? factored(groups, BinaryOp::Or, BinaryOp::And)
               : factored(groups, BinaryOp::And, BinaryOp::Or);
}

Phrase compareWithZero(const Phrase &value, const char *op) {
  return {value.in(Binding::BitOr) + " " + op + " 0", Binding::Compare};
}

// Writes the functions of one pattern.
class VisibilityWriter {
public:
  VisibilityWriter(const Pattern &pattern, const FunctionDef &sees,
                   Visibility &result)
      : pattern(pattern), sees(sees), result(result),
        taken(moduleNames(*pattern.module)) {
    for (const Parameter &parameter : sees.parameters) {
      taken.push_back(parameter.name);
      if (parameter.name == "t" || parameter.name == "pos")
        continue;
      if (parameter.name == "head") {
        for (const char *name : {"head0", "head1"}) {
          trailing += std::string(", ") + name;
          result.parameters.push_back(name);
        }
        continue;
      }
      result.parameters.push_back(parameter.name);
      trailing += ", " + parameter.name;
      if (parameter.annotation)
        trailing += ": " + dump(*parameter.annotation);
      if (parameter.defaultValue)
        trailing += (parameter.annotation ? " = " : "=") +
                    dump(*parameter.defaultValue);
    }
    taken.insert(taken.end(), {"head0", "head1"});
  }

  void write() {
    if (pattern.seesTile && pattern.keyRange && pattern.queryRange)
      return;
    StraightenOptions options;
    options.isPredicate = true;
    options.bools = boolParameters(pattern);
    options.remedy = "write sees_tile, key_range and query_range in the module";
    const StraightPath path = straighten(*pattern.module, sees, options);
    if (!pattern.seesTile)
      writeTile(path);
    if (!pattern.keyRange)
      writeRange(path, Key);
    if (!pattern.queryRange)
      writeRange(path, Query);
  }

private:
  using Lines = std::vector<std::string>;
  // Writes the lines of a leaf. `isOnly`: of a function without conditions.
  using Leaf = Lines (VisibilityWriter::*)(const AnalyzedFormula &,
                                           bool isOnly);

  void addFunction(const std::string &name, const std::string &fixed,
                   const std::string &docstring, const Lines &body) {
    if (!result.text.empty())
      result.text += "\n\n";
    result.text += "@triton.jit\ndef " + name + "(" + fixed + trailing +
                   "):\n    \"\"\"" + docstring + "\"\"\"\n";
    for (const std::string &line : body)
      result.text += "    " + line + "\n";
  }

  AnalyzedFormula analyzed(const SymbolPtr &value) const {
    AnalyzedFormula formula = analyze(pattern, value);
    const bool isText =
        value->kind == SymbolKind::Constant && value->value.is<std::string>();
    if (formula.isInteger || isText)
      throw CompileError({Diagnostic::make(
          DiagnosticId::InvalidHint, pattern.module->file,
          value->range.line ? value->range : sees.nameRange,
          std::string("`sees` returns a ") + (isText ? "text" : "number"),
          "return a condition, for example a comparison with != 0")});
    return formula;
  }

  // Writes the conditions of the path as `if` and `else`, with the lines of
  // each leaf.
  Lines branches(const StraightPath &path, Leaf leaf, bool isOnly) {
    if (!path.condition)
      return (this->*leaf)(analyzed(path.result), isOnly);
    const Lines yes = branches(*path.yes, leaf, false);
    const Lines no = branches(*path.no, leaf, false);
    if (yes == no)
      return yes;
    Lines lines = {"if " + printText(path.condition) + ":"};
    for (const std::string &line : yes)
      lines.push_back("    " + line);
    lines.emplace_back("else:");
    for (const std::string &line : no)
      lines.push_back("    " + line);
    return lines;
  }

  // Returns a name for an argument that no parameter has.
  std::string argument(const std::string &name) {
    std::string unique = name;
    while (std::find(taken.begin(), taken.end(), unique) != taken.end())
      unique += "_";
    return unique;
  }

  BoundWriter boundWriter(Lines own) {
    own.insert(own.end(), taken.begin(), taken.end());
    return BoundWriter({{argument("t0"), argument("pos0"), "head0"},
                        {argument("t1"), argument("pos1"), "head1"}},
                       std::move(own), result.helpers);
  }

  void writeTile(const StraightPath &path) {
    const std::string t0 = argument("t0"), t1 = argument("t1"),
                      pos0 = argument("pos0"), pos1 = argument("pos1");
    any = argument("any");
    all = argument("all");
    Lines body = branches(path, &VisibilityWriter::tileLeaf, true);
    body.push_back("return " + any + ", " + all);
    addFunction("sees_tile", t0 + ", " + t1 + ", " + pos0 + ", " + pos1,
                "Returns whether some query of " + t0 + ".." + t1 +
                    " sees a key of " + pos0 + ".." + pos1 +
                    ", and whether all see all.",
                body);
  }

  Lines tileLeaf(const AnalyzedFormula &analyzed, bool) {
    BoundWriter writer = boundWriter({any, all});
    Phrase some = tileCondition(analyzed.formula, false, writer);
    Phrase every = tileCondition(analyzed.formula, true, writer);
    for (const Phrase &value : analyzed.positive) {
      if (some.text != "True")
        some = joinPhrases(some, BinaryOp::Or, compareWithZero(value, "<="));
      if (every.text != "False")
        every = joinPhrases(every, BinaryOp::And, compareWithZero(value, ">"));
    }
    Lines lines = std::move(writer.lines);
    lines.push_back(any + " = " + some.text);
    lines.push_back(all + " = " + every.text);
    return lines;
  }

  void writeRange(const StraightPath &path, Variables which) {
    solved = which;
    const bool isKey = which == Key;
    const std::string low = argument(isKey ? "t0" : "pos0"),
                      high = argument(isKey ? "t1" : "pos1");
    length = argument("length");
    names = {argument("first"), argument("full_first"), argument("full_past"),
             argument("past")};
    const std::string list =
        names[0] + ", " + names[1] + ", " + names[2] + ", " + names[3];
    Lines body = branches(path, &VisibilityWriter::rangeLeaf, true);
    if (!body.back().starts_with("return "))
      body.push_back("return " + list);
    const std::string text =
        isKey
            ? "Returns " + list + ": queries " + low + ".." + high +
                  " see keys of [" + names[0] + ", " + names[3] +
                  ") only, and all of [" + names[1] + ", " + names[2] + ")."
            : "Returns " + list + ": keys " + low + ".." + high +
                  " are seen by queries of [" + names[0] + ", " + names[3] +
                  ") only, and by all of [" + names[1] + ", " + names[2] + ").";
    addFunction(isKey ? "key_range" : "query_range",
                low + ", " + high + ", " + length, text, body);
  }

  Lines rangeLeaf(const AnalyzedFormula &analyzed, bool isOnly) {
    Lines own = names;
    own.push_back(length);
    BoundWriter writer = boundWriter(std::move(own));
    const RangeText range = rangeOf(analyzed, solved, length, writer);
    (solved == Key ? result.keyGaps : result.queryGaps) |= range.gaps;
    Lines lines = std::move(writer.lines);
    const std::string *const texts[] = {&range.first, &range.fullFirst,
                                        &range.fullPast, &range.past};
    for (size_t i = 0; i < names.size(); ++i)
      lines.push_back(names[i] + " = " + *texts[i]);
    // An open range adds no information.
    const bool isOpen =
        range.first == "0" && range.past == length && range.fullPast == "0";
    if (range.positive.empty() || isOpen)
      return lines;
    Conditions known;
    for (const Phrase &value : range.positive)
      if (const Phrase test = compareWithZero(value, ">");
          !includes(known, test))
        known.push_back(test);
    const std::string list =
        names[0] + ", " + names[1] + ", " + names[2] + ", " + names[3];
    lines.push_back(
        (isOnly ? std::string("return ") : list + " = ") +
        writer
            .callHelper("known_range",
                        {joinAll(known, BinaryOp::And).text, length, list})
            .text);
    return lines;
  }

  const Pattern &pattern;
  const FunctionDef &sees;
  Visibility &result;
  std::vector<std::string> taken;
  std::string trailing; // ", head0, head1, window: tl.constexpr"
  // Names in the function that is written.
  std::string any, all, length;
  Lines names;
  Variables solved = Key;
};

const char *const causal = "@triton.jit\n"
                           "def sees(t, pos):\n"
                           "    return pos <= t\n";

} // namespace

std::string Visibility::importLine() const {
  if (helpers.empty())
    return "";
  std::string names;
  for (const std::string &helper : helpers)
    names += (names.empty() ? "" : ", ") + helper;
  return "from kernels.attention.intervals import " + names + "\n";
}

Visibility deriveVisibility(const Pattern &pattern) {
  Visibility result;
  const std::pair<const FunctionDef *, const char *> own[] = {
      {pattern.seesTile, "sees_tile"},
      {pattern.keyRange, "key_range"},
      {pattern.queryRange, "query_range"}};
  for (const auto &[function, name] : own)
    if (function)
      result.userDefined.emplace_back(name);
  try {
    if (pattern.sees) {
      VisibilityWriter(pattern, *pattern.sees, result).write();
      // A function of the module may hide any tile.
      result.keyGaps |= pattern.seesTile || pattern.keyRange;
      result.queryGaps |= pattern.seesTile || pattern.queryRange;
    } else {
      const ParseResult parsed =
          parse(std::make_shared<SourceFile>("causal", causal));
      Pattern plain = pattern;
      plain.module = parsed.module.get();
      plain.sees = parsed.module->findFunction("sees");
      VisibilityWriter(plain, *plain.sees, result).write();
    }
  } catch (const CompileError &error) {
    result.text.clear();
    result.diagnostics = error.diagnostics;
  }
  return result;
}

} // namespace tessera::language
