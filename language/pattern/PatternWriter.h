// language/pattern/PatternWriter.h - writes the kernels of a pattern as Python
// source.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/pattern/Derivative.h"
#include "language/pattern/Pattern.h"
#include "language/pattern/Visibility.h"

#include <map>
#include <string>
#include <vector>

namespace tessera::language {

// Returns the names of a function's parameters, in order.
std::vector<std::string> parametersOf(const FunctionDef &function);
std::string upperCase(std::string text);

// Writes the kernels of a pattern, and the functions that they call.
class PatternWriter {
public:
  // The references must stay valid while the writer is used. `name` becomes the
  // name of the kernels.
  PatternWriter(std::string name, const Pattern &pattern,
                const Visibility &visibility, const Gradients &gradients);

  // Returns false if `sees` shows that no query attends to a later key.
  bool attendsToLaterKeys() const;
  // Returns the functions that the code of kernels/attention calls: NAME_mask,
  // NAME_keys and others. Their signatures are the same for all patterns.
  std::string adapters() const;
  // Returns the kernels NAME_ref, NAME, NAME_bwd_dq, NAME_bwd_dkdv, NAME_bwd,
  // NAME_decode and, if queries attend to later keys, NAME_first_reader.
  std::string kernels() const;
  // Returns the kernels of a pattern with select(...): NAME_list,
  // NAME_list_bwd_dq, NAME_list_bwd_dkdv, NAME_scores and, with an indexer,
  // NAME_list_mass.
  std::string listKernels() const;

private:
  // Returns the expression for a name that `sees` or `modify` reads: "extra[1]"
  // for a parameter or a value of a sequence ("extra[2][1]" with select(...)),
  // "t.to(tl.int32)" for t with select(...), else the name.
  std::string inside(const std::string &parameter) const;
  // Returns a call with the parameters of a function: "f(t, pos, extra[0])".
  std::string call(const std::string &function,
                   const std::vector<std::string> &parameters) const;
  std::string adapter(const std::string &suffix, const std::string &signature,
                      const std::string &result) const;
  // Returns a Pattern of kernels/attention/core.py as text, such as
  // "Pattern((window,), near_mask, ...)". `gaps`: with NAME_visible;
  // `backward`: with the derivatives of `modify`.
  std::string patternValue(bool gaps, bool backward) const;
  std::string head(const std::string &suffix, const std::string &typedTensors,
                   const std::string &fp32Tensors, bool withGradients) const;
  // True if the kernel NAME + suffix has the parameter RUN.
  bool takesRuns(const std::string &suffix) const;
  std::string tileHints(const std::string &suffix) const;
  std::string instance(const std::string &suffix, const std::string &sizes,
                       int64_t limit) const;
  std::string rows(const LearnedParameter *parameter,
                   const std::string &prefix) const;
  std::string decodeHead(bool attends) const;
  std::string decodeKernels(std::map<std::string, std::string> pieces) const;
  std::map<std::string, std::string> common() const;
  void addReference(std::map<std::string, std::string> &pieces) const;

  std::string name;
  const Pattern &pattern;
  const Visibility &visibility;
  const Gradients &gradients;
  const LearnedParameter *learned = nullptr; // read by modify
  const LearnedParameter *sink = nullptr;    // joins the denominator
};

} // namespace tessera::language
