// language/pattern/SelectedWriter.cpp - writes the text of the kernels of a
// pattern that selects blocks.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/pattern/KernelTexts.h"
#include "language/pattern/PatternWriter.h"

namespace tessera::language {

std::string PatternWriter::listKernels() const {
  std::map<std::string, std::string> pieces = common();
  addReference(pieces);
  pieces["SIZES"] =
      "G: tl.constexpr, LSEL: tl.constexpr, NSEL: tl.constexpr, D: "
      "tl.constexpr, DP: tl.constexpr, DT: tl.constexpr, E: tl.constexpr, EP: "
      "tl.constexpr,\n                BM: tl.constexpr, BN: tl.constexpr";
  const bool corrects = learned && sink; // NAME_list_bwd_dq reads the sink
  pieces["TENSORS"] = learned ? "LEARNED: Rows, " : "";
  pieces["GRADIENTS"] = std::string(corrects ? "SINK: Rows, " : "") +
                        (learned ? "LEARNED: Rows, DLEARNED: Rows, " : "");
  pieces["LEARNED"] = learned ? "LEARNED" : "None";
  pieces["DLEARNED"] = learned ? "DLEARNED" : "None";
  pieces["SINK"] = corrects ? "SINK" : "None";
  pieces["NUMBERS"] = learned ? "NUMBERS, " : "";
  pieces["VALUES"] =
      learned ? "    " + learned->name + " = tl.load(NUMBERS + head)\n" : "";
  std::string text;
  const auto add = [&](const char *kernel, bool backward) {
    pieces["PATTERN"] = patternValue(false, backward);
    text += "\n\n" + replaceNames(kernel, pieces);
  };
  add(listKernel, false);
  add(listQueryGradientKernel, true);
  add(listKeyGradientKernel, true);
  if (pattern.selection->scorer == Scorer::Indexer)
    add(listMassKernel, false);
  add(scoresKernel, false);
  return text;
}

} // namespace tessera::language
