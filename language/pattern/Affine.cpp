// language/pattern/Affine.cpp - arithmetic on integer forms.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/pattern/Affine.h"

#include "language/pattern/Formula.h"

#include <algorithm>

namespace tessera::language {

// Larger sizes are capped, so that sums of them fit into Int.
static constexpr Int mostSize = Int(1) << 60;

unsigned Affine::variables() const {
  unsigned all = NoVariable;
  for (const Term &term : terms)
    all |= term.atom->variables;
  return all;
}

std::string Affine::key() const {
  std::vector<std::string> parts;
  for (const Term &term : terms)
    parts.push_back(printInt(term.factor) + "*" + term.atom->key);
  std::sort(parts.begin(), parts.end());
  std::string text = printInt(constant);
  for (const std::string &part : parts)
    text += "+" + part;
  return "(" + text + ")";
}

bool Affine::hasCompileTimeUniforms() const {
  return std::all_of(terms.begin(), terms.end(), [](const Term &term) {
    return term.atom->variables != NoVariable || term.atom->isCompileTime;
  });
}

AtomPtr variableAtom(Variables variable) {
  auto atom = std::make_shared<Atom>();
  atom->kind = AtomKind::Variable;
  atom->variables = variable;
  atom->key = variable == Query ? "t" : variable == Key ? "pos" : "head";
  return atom;
}

AtomPtr uniformAtom(Phrase text, Int size, bool isCompileTime) {
  auto atom = std::make_shared<Atom>();
  atom->size = size;
  atom->isCompileTime = isCompileTime;
  atom->key = "`" + text.text + "`";
  atom->uniform = std::move(text);
  return atom;
}

AtomPtr makeAtom(AtomKind kind, std::vector<Affine> operands, Phrase uniform,
                 FormulaPtr condition) {
  auto atom = std::make_shared<Atom>();
  atom->kind = kind;
  atom->key = std::to_string(int(kind)) + "[`" + uniform.text + "`";
  for (const Affine &operand : operands) {
    atom->key += operand.key();
    atom->variables |= operand.variables();
  }
  if (condition) {
    atom->key += formulaKey(*condition);
    atom->variables |= formulaVariables(*condition);
  }
  atom->key += "]";
  atom->operands = std::move(operands);
  atom->uniform = std::move(uniform);
  atom->condition = std::move(condition);
  return atom;
}

Affine affineOf(AtomPtr atom) {
  const Int size = atom->variables != NoVariable     ? Int(0)
                   : atom->kind == AtomKind::Uniform ? atom->size
                                                     : largestInt32;
  return {{{std::move(atom), 1}}, 0, size};
}

Affine affineOf(Int constant) { return {{}, constant, 0}; }

static bool isUniform(const Term &term) {
  return term.atom->variables == NoVariable;
}

Affine addScaled(const Affine &a, const Affine &b, Int factor) {
  Affine result = a;
  result.constant += factor * b.constant;
  for (const Term &term : b.terms) {
    auto same = std::find_if(
        result.terms.begin(), result.terms.end(),
        [&](const Term &other) { return other.atom->key == term.atom->key; });
    if (same == result.terms.end())
      result.terms.push_back({term.atom, factor * term.factor});
    else
      same->factor += factor * term.factor;
  }
  std::erase_if(result.terms,
                [](const Term &term) { return term.factor == 0; });
  result.uniformSize =
      std::none_of(result.terms.begin(), result.terms.end(), isUniform)
          ? Int(0)
          : std::min(mostSize,
                     a.uniformSize +
                         std::min(mostSize, magnitude(factor)) * b.uniformSize);
  return result;
}

Affine scaled(const Affine &a, Int factor) {
  return addScaled(affineOf(Int(0)), a, factor);
}

Affine replaced(const Affine &form, const Term &term,
                const Affine &replacement) {
  const Affine rest = addScaled(form, affineOf(term.atom), -term.factor);
  return addScaled(rest, replacement, term.factor);
}

bool isNeverNegative(const Affine &form) {
  auto isNatural = [](const Term &term) {
    const Atom &atom = *term.atom;
    if (term.factor < 0)
      return false;
    if (atom.kind == AtomKind::Quotient || atom.kind == AtomKind::Remainder)
      return isNeverNegative(atom.operands[0]);
    return atom.kind == AtomKind::Variable;
  };
  return form.constant >= 0 &&
         std::all_of(form.terms.begin(), form.terms.end(), isNatural);
}

} // namespace tessera::language
