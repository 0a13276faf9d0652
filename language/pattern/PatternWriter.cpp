// language/pattern/PatternWriter.cpp - writes the kernels of a pattern as
// Python source, which the compiler then reads like the file of a user.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/pattern/PatternWriter.h"

#include "language/pattern/KernelTexts.h"
#include "support/Lists.h"

#include <algorithm>
#include <utility>

namespace tessera::language {
namespace {

// Returns the value of a parameter in the instances for tests; integers are at
// most `limit`. A window of 512 would hide nothing in their short sequences.
std::string smallValue(const Value &value, int64_t limit) {
  const Int *number = value.get<Int>();
  return number && *number > limit ? std::to_string(limit) : value.repr();
}

// True if an expression is `pos <= t`, `t >= pos`, or an `&` with such an
// operand.
bool isCausal(const Expr &expr) {
  if (const auto *both = expr.as<BinOp>())
    return both->op == BinaryOp::And &&
           (isCausal(*both->left) || isCausal(*both->right));
  const auto *compare = expr.as<Compare>();
  if (!compare || compare->ops.size() != 1)
    return false;
  const auto *left = compare->left->as<Name>();
  const auto *right = compare->comparators[0]->as<Name>();
  if (!left || !right)
    return false;
  return (compare->ops[0] == CompareOp::Le && left->id == "pos" &&
          right->id == "t") ||
         (compare->ops[0] == CompareOp::Ge && left->id == "t" &&
          right->id == "pos");
}

// True if the pattern has no `sees`, or if `sees` is one `return` whose
// condition shows that no query attends to a later key.
bool isCausal(const FunctionDef *sees) {
  if (!sees)
    return true;
  const auto *result =
      sees->body.size() == 1 ? sees->body[0]->as<Return>() : nullptr;
  return result && result->value && isCausal(*result->value);
}

} // namespace

bool PatternWriter::attendsToLaterKeys() const {
  return !isCausal(pattern.sees);
}

std::string PatternWriter::patternValue(bool gaps, bool backward) const {
  std::vector<std::string> inputs;
  for (const PatternParameter &p : pattern.parameters)
    inputs.push_back(p.name);
  for (const PerSequence &p : pattern.perSequence)
    inputs.push_back(upperCase(p.name));
  if (inputs.empty())
    inputs.push_back("0"); // not read; Triton rejects empty tuples
  const auto named = [&](bool there, const char *suffix) {
    return there ? name + "_" + suffix : std::string("None");
  };
  const bool ranges = !pattern.selection; // else lists of blocks name the keys
  return "Pattern((" + joined(inputs, ", ") +
         (inputs.size() == 1 ? ",), " : "), ") + name + "_mask, " +
         named(ranges, "keys") + ", " + named(ranges, "queries") + ", " +
         named(gaps, "visible") + ", " + named(pattern.modify, "score") + ", " +
         named(backward && pattern.modify && !gradients.unitSlope,
               "score_grad") +
         ", " + named(backward && learned, "learned_grad") + ", " +
         named(!pattern.perSequence.empty(), "load") +
         (pattern.selection || isCausal(pattern.sees) ? ", causal=True)" : ")");
}

std::string PatternWriter::instance(const std::string &suffix,
                                    const std::string &sizes,
                                    int64_t limit) const {
  std::string text = "# tessera: instance " + name + suffix + "(" + sizes;
  for (const PatternParameter &p : pattern.parameters) {
    text += ", " + p.name + "=" + smallValue(p.defaultValue, limit);
    // `tessera check` makes sequences as long as the product of the integers.
    if (p.defaultValue.is<Int>())
      limit = std::min<int64_t>(limit, 5);
  }
  return text + ")\n";
}

bool PatternWriter::takesRuns(const std::string &suffix) const {
  // RUN divides tiles of keys, and the loop of dkdv visits queries.
  return visibility.keyGaps && suffix != "_bwd_dkdv";
}

// Returns a kernel's configurations on the CPU, the default first, and the
// search space of `tessera tune`.
std::string PatternWriter::tileHints(const std::string &suffix) const {
  const bool runs = takesRuns(suffix);
  std::string text;
  if (pattern.tiles) {
    const int64_t run = pattern.tiles->run;
    const int64_t keys =
        run && !runs ? std::max<int64_t>(run, 16) : pattern.tiles->keys;
    text = "# tessera: cpu(SPLIT=" + std::string(run && runs ? "1" : "0") +
           ", BM=" + std::to_string(pattern.tiles->rows) +
           ", BN=" + std::to_string(keys) +
           (run && runs ? ", RUN=" + std::to_string(run) : "") + ")\n";
  }
  return text +
         "# tessera: cpu(BM=64, BN=32, SPLIT=0)\n"
         "# tessera: cpu(BM=32, BN=64, SPLIT=1)\n"
         "# tessera: space(BM=[16, 32, 64, 128], BN=[16, 32, 64, 128], "
         "SPLIT=[0, 1]" +
         (runs ? ", RUN=[0, 4, 8]" : "") +
         ", where=G <= BM and BM * BN <= 8192)\n";
}

// Returns the hints above the kernel NAME + suffix. `typedTensors` have the
// type TYPE, which is fp32 in some instances; `fp32Tensors` are fp32.
// `withGradients` adds the gradients of learned parameters.
std::string PatternWriter::head(const std::string &suffix,
                                const std::string &typedTensors,
                                const std::string &fp32Tensors,
                                bool withGradients) const {
  const bool onePass = suffix == "_bwd";
  std::string full = fp32Tensors, types, checks;
  for (const LearnedParameter *p : {sink, learned})
    if (p) {
      full += " " + upperCase(p->name);
      if (withGradients)
        full += " D" + upperCase(p->name);
      checks += (checks.empty() ? "" : ", ") + upperCase(p->name) +
                "=(0.0, 0.25, [T, H * G])";
    }
  for (const PerSequence &p : pattern.perSequence) {
    types += "\"" + upperCase(p.name) + ": *" + p.type + "\", ";
    checks +=
        (checks.empty() ? "" : ", ") + upperCase(p.name) + "=(0, 40, [B])";
  }
  std::string text = "# tessera: types(\"" + typedTensors + ": *TYPE:16\", \"" +
                     full + ": *fp32:16\", \"CU: *i32:16\", " + types +
                     "\"scale: fp32\", \"T " + (onePass ? "shares" : "nseq") +
                     ": i32\", \"s*: i32:16\")\n";
  const std::string noTail = onePass ? "" : " DT=0,";
  text += instance(suffix + "_f32",
                   "TYPE=\"fp32\", G=6, D=32, DP=32," + noTail +
                       " E=32, EP=32, BM=32, BN=16" +
                       (takesRuns(suffix) ? ", RUN=4" : ""),
                   41);
  if (suffix.empty()) {
    text += instance("_narrow_f32",
                     "TYPE=\"fp32\", G=1, D=48, DP=32, DT=16, E=16, EP=16, "
                     "BM=32, BN=16",
                     7);
    text += instance("_wide_bf16",
                     "TYPE=\"bf16\", G=16, D=192, DP=128, DT=64, E=128, "
                     "EP=128, BM=64, BN=64",
                     19);
  }
  text += instance(suffix + "_bf16",
                   "TYPE=\"bf16\", G=2, D=64, DP=64," + noTail +
                       " E=64, EP=64, BM=32, BN=16",
                   41);
  text += tileHints(suffix);
  if (!checks.empty())
    text += "# tessera: check(" + checks + ")\n";
  return text;
}

std::string PatternWriter::rows(const LearnedParameter *parameter,
                                const std::string &prefix) const {
  return parameter ? "Rows(" + prefix + upperCase(parameter->name) + ", s" +
                         parameter->name + "t, s" + parameter->name + "h)"
                   : "None";
}

std::map<std::string, std::string> PatternWriter::common() const {
  std::map<std::string, std::string> pieces = {{"NAME", name}};
  std::string &tensors = pieces["TENSORS"],
              &gradientTensors = pieces["GRADIENTS"],
              &strides = pieces["STRIDES"], &parameters = pieces["PARAMETERS"];
  for (const LearnedParameter *p : {sink, learned})
    if (p) {
      tensors += upperCase(p->name) + ", ";
      gradientTensors += upperCase(p->name) + ", D" + upperCase(p->name) + ", ";
      strides += ", s" + p->name + "t, s" + p->name + "h";
    }
  for (const PerSequence &p : pattern.perSequence) {
    tensors += upperCase(p.name) + ", ";
    gradientTensors += upperCase(p.name) + ", ";
  }
  for (const PatternParameter &p : pattern.parameters)
    parameters += ", " + p.name + ": tl.constexpr = " + p.defaultValue.repr();
  std::string &limits = pieces["LIMITS"];
  for (const PatternParameter &p : pattern.parameters)
    if (p.defaultValue.is<Int>())
      limits += "    tl.static_assert((" + p.name + " >= -1073741824) and (" +
                p.name + " <= 1073741824), \"the parameter " + p.name +
                " must be from -2**30 to 2**30\")\n";
  pieces["SIZES"] =
      "G: tl.constexpr, D: tl.constexpr, DP: tl.constexpr, DT: tl.constexpr, "
      "E: tl.constexpr, EP: tl.constexpr,\n           BM: tl.constexpr, BN: "
      "tl.constexpr, SPLIT: tl.constexpr = 1";
  pieces["ONE_SLICE"] =
      "G: tl.constexpr, D: tl.constexpr, DP: tl.constexpr, E: tl.constexpr, "
      "EP: tl.constexpr,\n               BM: tl.constexpr, BN: tl.constexpr, "
      "SPLIT: tl.constexpr = 1";
  pieces["SINK"] = rows(sink, "");
  pieces["DSINK"] = rows(sink, "D");
  pieces["LEARNED"] = rows(learned, "");
  pieces["DLEARNED"] = rows(learned, "D");
  return pieces;
}

void PatternWriter::addReference(
    std::map<std::string, std::string> &pieces) const {
  std::string &values = pieces["VALUES"];
  for (const PerSequence &p : pattern.perSequence)
    values +=
        "    " + p.name + " = tl.load(" + upperCase(p.name) + " + sequence)\n";
  for (const LearnedParameter *p : {sink, learned})
    if (p)
      values += "    " + p->name + " = tl.load(" + upperCase(p->name) +
                " + (start + t) * s" + p->name + "t + head * s" + p->name +
                "h)\n";
  pieces["SINK_WEIGHT"] = sink ? " + tl.exp(" + sink->name + " - base)" : "";
  pieces["SEES"] =
      pattern.sees ? "sees(" + joined(parametersOf(*pattern.sees), ", ") + ")"
                   : "sees(t, pos)";
  pieces["MODIFY"] =
      pattern.modify ? "        s = modify(" +
                           joined(parametersOf(*pattern.modify), ", ") + ")\n"
                     : "";
  // The same in the branch of the keys that the query sees.
  pieces["MODIFY_SEEN"] = pattern.modify ? "    " + pieces["MODIFY"] : "";
}

// Returns the hints above NAME_decode or, if `attends` is false, above
// NAME_first_reader.
std::string PatternWriter::decodeHead(bool attends) const {
  std::string full, types;
  for (const LearnedParameter *p : {sink, learned})
    if (p && attends)
      full += " " + upperCase(p->name);
  for (const PerSequence &p : pattern.perSequence)
    types += "\"" + upperCase(p.name) + ": *" + p.type + "\", ";
  if (!full.empty())
    types += "\"" + full.substr(1) + ": *fp32:16\", ";
  if (!attends)
    return "# tessera: types(\"OUT: *i32:16\", " + types +
           "\"BEGIN END: i32\")\n" +
           instance("_first_reader_any", "HEADS=6", 41);
  return "# tessera: types(\"Q K V O: *TYPE:16\", " + types +
         "\"scale: fp32\", \"BEGIN END: i32\", \"s*: i32:16\")\n" +
         instance("_decode_f32",
                  "TYPE=\"fp32\", G=6, D=32, DP=32, DT=0, E=32, EP=32, "
                  "BM=16, BN=64",
                  41);
}

std::string
PatternWriter::decodeKernels(std::map<std::string, std::string> pieces) const {
  // One number per head, the same for all tokens.
  const auto numbers = [](const LearnedParameter *p) {
    return p ? "Rows(" + upperCase(p->name) + ", 0, 1)" : std::string("None");
  };
  pieces["SINK"] = numbers(sink);
  pieces["LEARNED"] = numbers(learned);
  pieces["PATTERN"] = patternValue(visibility.keyGaps, false);
  pieces["HEAD"] = decodeHead(true);
  std::string text = "\n\n" + replaceNames(decodeKernel, pieces);
  if (!attendsToLaterKeys())
    return text;
  pieces["TENSORS"] = "";
  for (const PerSequence &p : pattern.perSequence)
    pieces["TENSORS"] += upperCase(p.name) + ", ";
  pieces["HEAD"] = decodeHead(false);
  return text + "\n\n" + replaceNames(firstReaderKernel, pieces);
}

std::string PatternWriter::kernels() const {
  std::map<std::string, std::string> pieces = common();
  addReference(pieces);
  std::string text = "\n\n" + replaceNames(referenceKernel, pieces);
  pieces["RUN"] = takesRuns("") ? ", RUN" : "";
  pieces["RUN_PARAMETER"] = takesRuns("") ? ", RUN: tl.constexpr = 0" : "";
  const auto add = [&](const char *kernel, const std::string &value,
                       const std::string &hints) {
    pieces["PATTERN"] = value;
    pieces["HEAD"] = hints;
    text += "\n\n" + replaceNames(kernel, pieces);
  };
  add(forwardKernel, patternValue(visibility.keyGaps, false),
      head("", "Q K V O", "LSE", false));
  add(queryGradientKernel, patternValue(visibility.keyGaps, true),
      head("_bwd_dq", "Q K V DO DQ", "LSE DELTA", true));
  add(keyGradientKernel, patternValue(visibility.queryGaps, true),
      head("_bwd_dkdv", "Q K V DO DK DV", "LSE DELTA", false));
  add(gradientKernel, patternValue(visibility.keyGaps, true),
      head("_bwd", "Q K V DO DQ", "LSE DELTA DK DV", true));
  return text + decodeKernels(std::move(pieces));
}

} // namespace tessera::language
