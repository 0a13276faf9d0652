// language/pattern/Affine.h - integer forms over the positions of a tile, and
// the text of their bounds.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A form is a sum of atoms with integer factors. An atom is a variable (t, pos
// or head), a value that is the same for all elements of a tile, or a
// non-linear expression such as t // block. Equal atoms have equal keys, so
// t - pos + pos is t.
#pragma once

#include "language/pattern/Symbol.h"

#include <memory>
#include <string>
#include <vector>

namespace tessera::language {

// Sets of variables.
enum Variables : unsigned { NoVariable = 0, Query = 1, Key = 2, Head = 4 };

struct Atom;
struct Formula;
using AtomPtr = std::shared_ptr<const Atom>;
using FormulaPtr = std::shared_ptr<const Formula>;

struct Term {
  AtomPtr atom;
  Int factor = 1;
};

struct Affine {
  std::vector<Term> terms; // factors are not 0, keys differ
  Int constant = 0;
  // No sum of the terms without variables has a larger magnitude.
  Int uniformSize = 0;

  unsigned variables() const; // of all terms
  std::string key() const;
  // True if all terms without variables have a compile-time value.
  bool hasCompileTimeUniforms() const;
};

// The largest magnitude of a parameter. Positions are less than half of it.
inline constexpr Int parameterSize = Int(1) << 30;
inline constexpr Int largestInt32 = (Int(1) << 31) - 1;

inline Int magnitude(Int value) { return value < 0 ? -value : value; }

enum class AtomKind {
  Variable,
  Uniform,   // `uniform`, equal for all elements of the tile
  Quotient,  // operand 0 // uniform, where uniform > 0
  Remainder, // operand 0 % uniform, where uniform > 0
  Minimum,   // of both operands
  Maximum,
  Choice,  // operand 0 where `condition` holds, else operand 1
  Scaled,  // uniform * operand 0
  Product, // operand 0 * operand 1
};

struct Atom {
  AtomKind kind = AtomKind::Uniform;
  unsigned variables = NoVariable; // variables it depends on
  // Of Uniform: no value has a larger magnitude.
  Int size = 0;
  bool isCompileTime = false; // of Uniform
  std::string key;
  Phrase uniform;
  std::vector<Affine> operands;
  FormulaPtr condition;
};

AtomPtr variableAtom(Variables variable);
// Returns an atom; no value of the text has a magnitude above `size`.
AtomPtr uniformAtom(Phrase text, Int size, bool isCompileTime);
AtomPtr makeAtom(AtomKind kind, std::vector<Affine> operands,
                 Phrase uniform = {}, FormulaPtr condition = nullptr);

Affine affineOf(AtomPtr atom);
Affine affineOf(Int constant);
// Returns a + factor * b.
Affine addScaled(const Affine &a, const Affine &b, Int factor);
Affine scaled(const Affine &a, Int factor);
// Returns `form` with factor * `atom` replaced by factor * `replacement`.
Affine replaced(const Affine &form, const Term &term,
                const Affine &replacement);
// True if the form is not negative for any t, pos and head that are not
// negative.
bool isNeverNegative(const Affine &form);

// The names of the lowest and the highest value of each variable.
struct VariableBounds {
  std::string low[3], high[3]; // of Query, Key, Head
};

// Writes bounds of forms over a tile. Bounds that need a helper function are
// assigned to names by lines of text, which the bounds then use.
class BoundWriter {
public:
  // `taken` are names that the lines must not assign.
  BoundWriter(VariableBounds bounds, std::vector<std::string> taken,
              std::vector<std::string> &helpers)
      : bounds(std::move(bounds)), taken(std::move(taken)), helpers(helpers) {}

  // Returns the lowest or the highest value of the form.
  Phrase bound(const Affine &form, bool high);
  // Returns the same as a bound of positions: if a sum of parameters does not
  // fit int32, the text limits it to a number outside of all positions.
  Phrase positionBound(const Affine &form, bool high);
  // Returns a comparison that is true if the lowest (or highest) value of the
  // form is at most 0. `strict` prefers `<` to `<=`.
  Phrase atMostZero(const Affine &form, bool high, bool strict);
  // Calls a helper of intervals.py; records that the text needs it.
  Phrase callHelper(const std::string &name,
                    const std::vector<std::string> &arguments);
  // Returns an unused name: `name`, or `name` with a number.
  std::string freshName(const std::string &name);

  std::vector<std::string> lines;
  // Additional limits of forms whose remainders are bounded, by the keys of the
  // forms. They hold for the elements in question.
  struct Limits {
    std::vector<Affine> least, most; // without variables
  };
  std::map<std::string, Limits> limits;

private:
  struct Piece {
    Int factor;
    Phrase text;
    unsigned variables;
  };
  Piece piece(const Term &term, bool high);
  // Returns `value` clamped to [-most, most]. The value is known at compile
  // time, where integers are unbounded; its magnitude is at most `size`.
  Phrase limited(const Phrase &value, Int size, Int most);
  static Phrase sum(const std::vector<Piece> &pieces, Int constant);
  Phrase atomBound(const Atom &atom, bool high);
  std::string limitedBound(const Affine &form, bool high);
  Phrase helperBound(const std::string &helper,
                     const std::vector<std::string> &arguments, bool high);

  VariableBounds bounds;
  std::vector<std::string> taken;
  std::vector<std::string> &helpers;
  std::map<std::string, std::pair<std::string, std::string>> pairs;
  std::map<std::string, std::string> limitNames; // key: text of the limit
};

} // namespace tessera::language
