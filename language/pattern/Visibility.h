// language/pattern/Visibility.h - functions on tiles, derived from the function
// `sees` of a pattern.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// deriveVisibility() writes kernel-language text of three functions. They end
// with the parameters of `sees` after `t` and `pos`, in the same order, with
// `head` replaced by `head0, head1`, the lowest and highest head:
//
//   sees_tile(t0, t1, pos0, pos1, ...) -> (any, all)
//   key_range(t0, t1, length, ...) -> (first, full_first, full_past, past)
//   query_range(pos0, pos1, length, ...) -> the same for queries
//
// * `any` is False only if no query t0..t1 sees a key pos0..pos1, `all` is True
//   only if each query sees each key. Both ends are included.
// * Queries t0..t1 see no key outside [first, past). All of them see each key
//   of [full_first, full_past), which is empty if full_first >= full_past.
//   0 <= first and past <= length; first > past is possible if nothing is seen.
// * The bounds t0, t1, pos0, pos1, head0, head1 and length are run-time int32
//   with 0 <= t0 <= t1, 0 <= pos0 <= pos1 and 0 <= head0 <= head1. Sums of
//   positions and parameters, such as pos1 + window, must fit int32. Where no
//   value of the run time is involved, a result may be a constant.
//
// `sees` may use t, pos, head, its parameters, module constants, arithmetic
// (+ - * // % min max abs where), comparisons, & | ^ ~ and or not, assignments,
// `if` on constexprs and straight-line functions of the same module. What the
// analysis does not understand counts as "some keys are seen": any is True and
// all is False. Reading memory and calling an unknown function are errors.
#pragma once

#include "language/pattern/Pattern.h"

#include <string>
#include <vector>

namespace tessera::language {

struct Visibility {
  // The functions, each with `@triton.jit` and a docstring, separated by two
  // empty lines. Leaves out functions that the module defines. They use `tl`,
  // `triton`, names of the pattern's module, and `helpers`.
  std::string text;
  // Functions of kernels/attention/intervals.py that the text calls.
  std::vector<std::string> helpers;
  // What follows the fixed parameters of each function, in order: {"head0",
  // "head1", "window"}.
  std::vector<std::string> parameters;
  // Tiles inside key_range (or query_range) may be hidden, so a kernel calls
  // sees_tile for each. If false, a tile inside the range is hidden only for
  // degenerate parameters such as window=0.
  bool keyGaps = false;
  bool queryGaps = false;
  // Names of functions that the module defines itself: {"sees_tile"}.
  std::vector<std::string> userDefined;
  std::vector<Diagnostic> diagnostics; // errors; the text is then empty

  bool ok() const { return diagnostics.empty(); }
  // "from kernels.attention.intervals import hull_of_ranges\n", or "".
  std::string importLine() const;
};

// A pattern without `sees` is causal, without further parameters.
Visibility deriveVisibility(const Pattern &pattern);

} // namespace tessera::language
