// language/pattern/PatternAdapters.cpp - writes functions that have one
// signature for all patterns.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/pattern/PatternWriter.h"
#include "support/Lists.h"

#include <algorithm>
#include <cctype>

namespace tessera::language {

std::vector<std::string> parametersOf(const FunctionDef &function) {
  return namesOf(function.parameters, &Parameter::name);
}

std::string upperCase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return char(std::toupper(c)); });
  return text;
}

PatternWriter::PatternWriter(std::string name, const Pattern &pattern,
                             const Visibility &visibility,
                             const Gradients &gradients)
    : name(std::move(name)), pattern(pattern), visibility(visibility),
      gradients(gradients) {
  for (const LearnedParameter &parameter : pattern.learned) {
    const auto taken = pattern.modify ? parametersOf(*pattern.modify)
                                      : std::vector<std::string>();
    const bool scored =
        std::find(taken.begin(), taken.end(), parameter.name) != taken.end();
    (scored ? learned : sink) = &parameter;
  }
}

std::string PatternWriter::inside(const std::string &parameter) const {
  if (pattern.selection && parameter == "t") // int64 in one of the kernels
    return "t.to(tl.int32)";
  const std::string extra = pattern.selection ? "extra[2][" : "extra[";
  size_t index = 0;
  for (const PatternParameter &p : pattern.parameters) {
    if (p.name == parameter)
      return extra + std::to_string(index) + "]";
    ++index;
  }
  for (const PerSequence &p : pattern.perSequence) {
    if (p.name == parameter)
      return extra + std::to_string(index) + "]";
    ++index;
  }
  return learned && learned->name == parameter ? "learned" : parameter;
}

std::string
PatternWriter::call(const std::string &function,
                    const std::vector<std::string> &parameters) const {
  std::vector<std::string> given;
  for (const std::string &parameter : parameters)
    given.push_back(inside(parameter));
  return function + "(" + joined(given, ", ") + ")";
}

std::string PatternWriter::adapter(const std::string &suffix,
                                   const std::string &signature,
                                   const std::string &result) const {
  return "\n\n@triton.jit\ndef " + name + "_" + suffix + "(" + signature +
         "):\n    return " + result + "\n";
}

std::string PatternWriter::adapters() const {
  const auto ranged = [&](std::vector<std::string> first) {
    first.insert(first.end(), visibility.parameters.begin(),
                 visibility.parameters.end());
    return first;
  };
  std::string text;
  if (!pattern.sees)
    text += "\n\n@triton.jit\ndef sees(t, pos):\n    \"\"\"Returns whether the "
            "key is at or before the query.\"\"\"\n    return pos <= t\n";
  const std::string seen =
      pattern.sees ? call("sees", parametersOf(*pattern.sees)) : "sees(t, pos)";
  text += adapter(
      "mask", "t, pos, head, extra",
      pattern.selection ? "listed_mask(t, pos, head, extra) & " + seen : seen);
  if (!pattern.selection) {
    text += adapter("keys", "t0, t1, length, head0, head1, extra",
                    call("key_range", ranged({"t0", "t1", "length"})));
    text += adapter("queries", "pos0, pos1, length, head0, head1, extra",
                    call("query_range", ranged({"pos0", "pos1", "length"})));
  }
  if (!pattern.selection && (visibility.keyGaps || visibility.queryGaps))
    text += adapter("visible", "t0, t1, pos0, pos1, head0, head1, extra",
                    call("sees_tile", ranged({"t0", "t1", "pos0", "pos1"})) +
                        "[0]");
  const std::string scored = "s, t, pos, head, extra, learned";
  if (pattern.modify) {
    const auto parameters = parametersOf(*pattern.modify);
    // A rule may return a number, or a value of each row or column.
    text += adapter("score", scored,
                    "tl.broadcast_to(tl.cast(" + call("modify", parameters) +
                        ", s.dtype), s.shape)");
    if (!gradients.unitSlope)
      text += adapter("score_grad", scored, call("modify_grad", parameters));
    if (learned)
      text += adapter("learned_grad", scored,
                      call("modify_grad_" + learned->name, parameters));
  }
  if (!pattern.perSequence.empty()) {
    std::vector<std::string> values;
    for (size_t i = 0; i < pattern.parameters.size(); ++i)
      values.push_back("inputs[" + std::to_string(i) + "]");
    for (size_t i = 0; i < pattern.perSequence.size(); ++i)
      values.push_back("tl.load(inputs[" + std::to_string(values.size()) +
                       "] + sequence)");
    text +=
        adapter("load", "inputs, sequence",
                "(" + joined(values, ", ") + (values.size() == 1 ? ",)" : ")"));
  }
  return text;
}

} // namespace tessera::language
