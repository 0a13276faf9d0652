// language/pattern/PatternKernels.cpp - the attention kernels of a pattern.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/pattern/PatternKernels.h"

#include "language/Parser.h"
#include "language/pattern/Derivative.h"
#include "language/pattern/KernelTexts.h"
#include "language/pattern/Pattern.h"
#include "language/pattern/PatternNames.h"
#include "language/pattern/Visibility.h"
#include "support/Lists.h"
#include "support/Names.h"

#include <algorithm>
#include <filesystem>

namespace tessera::language {
namespace {

// The line behind which the derived text begins.
constexpr std::string_view marker =
    "# The kernels of the pattern above, derived from its functions.";

using Pieces = std::map<std::string, std::string>;

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return char(std::toupper(c)); });
  return text;
}

// Integer parameters become at most `limit` in an instance: a window of 512
// would hide nothing in short sequences.
std::string smallValue(const Value &value, int64_t limit) {
  const Int *number = value.get<Int>();
  return number && *number > limit ? std::to_string(limit) : value.repr();
}

bool takes(const FunctionDef *function, std::string_view parameter) {
  return function &&
         std::any_of(function->parameters.begin(), function->parameters.end(),
                     [&](const auto &p) { return p.name == parameter; });
}

// Whether an expression is `pos <= t`, or an `&` of which one side is.
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

// Whether no query can attend to a key after itself, as far as the last
// statement of `sees` tells. A `sees` that assigns its positions is not known.
bool isCausal(const FunctionDef *sees) {
  if (!sees)
    return true;
  const auto *result =
      sees->body.size() == 1 ? sees->body[0]->as<Return>() : nullptr;
  return result && result->value && isCausal(*result->value);
}

// Everything that the texts of the kernels depend on.
class Writer {
public:
  Writer(std::string name, const Pattern &pattern, const Visibility &visibility,
         const Gradients &gradients)
      : name(std::move(name)), pattern(pattern), visibility(visibility),
        gradients(gradients) {
    for (const LearnedParameter &parameter : pattern.learned)
      (takes(pattern.modify, parameter.name) ? learned : sink) = &parameter;
  }

  std::string adapters() const;
  std::string kernels() const;

private:
  // "extra[1]" for a parameter or a value of a sequence; any other name as it
  // is.
  std::string inside(const std::string &parameter) const;
  // "f(t, pos, extra[0])" from the parameters of a function. The first ones
  // are passed as they are.
  std::string call(const std::string &function,
                   const std::vector<std::string> &parameters,
                   size_t asTheyAre = 0) const;
  std::vector<std::string> parametersOf(const FunctionDef *function) const;
  std::string adapter(const std::string &suffix, const std::string &signature,
                      const std::string &result) const;
  std::string patternValue(bool gaps, bool backward) const;
  std::string head(const std::string &suffix, const std::string &halfTensors,
                   const std::string &fullTensors, bool gradients) const;
  std::string instance(const std::string &suffix, const std::string &sizes,
                       int64_t limit) const;
  std::string rows(const LearnedParameter *parameter,
                   const std::string &prefix) const;
  Pieces common() const;
  void addReference(Pieces &pieces) const;

  std::string name;
  const Pattern &pattern;
  const Visibility &visibility;
  const Gradients &gradients;
  const LearnedParameter *learned = nullptr; // read by modify
  const LearnedParameter *sink = nullptr;    // joins the denominator
};

std::vector<std::string>
Writer::parametersOf(const FunctionDef *function) const {
  std::vector<std::string> names;
  for (const auto &parameter : function->parameters)
    names.push_back(parameter.name);
  return names;
}

std::string Writer::inside(const std::string &parameter) const {
  size_t index = 0;
  for (const PatternParameter &p : pattern.parameters) {
    if (p.name == parameter)
      return "extra[" + std::to_string(index) + "]";
    ++index;
  }
  for (const PerSequence &p : pattern.perSequence) {
    if (p.name == parameter)
      return "extra[" + std::to_string(index) + "]";
    ++index;
  }
  return learned && learned->name == parameter ? "learned" : parameter;
}

std::string Writer::call(const std::string &function,
                         const std::vector<std::string> &parameters,
                         size_t asTheyAre) const {
  std::vector<std::string> given;
  for (const std::string &parameter : parameters)
    given.push_back(given.size() < asTheyAre ? parameter : inside(parameter));
  return function + "(" + joined(given, ", ") + ")";
}

std::string Writer::adapter(const std::string &suffix,
                            const std::string &signature,
                            const std::string &result) const {
  return "\n\n@triton.jit\ndef " + name + "_" + suffix + "(" + signature +
         "):\n    return " + result + "\n";
}

std::string Writer::adapters() const {
  const auto ranged = [&](std::vector<std::string> first) {
    first.insert(first.end(), visibility.parameters.begin(),
                 visibility.parameters.end());
    return first;
  };
  std::string text;
  if (!pattern.sees)
    text += "\n\n@triton.jit\ndef sees(t, pos):\n    \"\"\"Returns whether the "
            "key is at or before the query.\"\"\"\n    return pos <= t\n";
  text += adapter("mask", "t, pos, head, extra",
                  pattern.sees ? call("sees", parametersOf(pattern.sees))
                               : "sees(t, pos)");
  text += adapter("keys", "t0, t1, length, head0, head1, extra",
                  call("key_range", ranged({"t0", "t1", "length"}), 3));
  text += adapter("queries", "pos0, pos1, length, head0, head1, extra",
                  call("query_range", ranged({"pos0", "pos1", "length"}), 3));
  if (visibility.keyGaps || visibility.queryGaps)
    text += adapter("visible", "t0, t1, pos0, pos1, head0, head1, extra",
                    call("sees_tile", ranged({"t0", "t1", "pos0", "pos1"}), 4) +
                        "[0]");
  const std::string scored = "s, t, pos, head, extra, learned";
  if (pattern.modify) {
    const auto parameters = parametersOf(pattern.modify);
    text += adapter("score", scored, call("modify", parameters));
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

std::string Writer::patternValue(bool gaps, bool backward) const {
  std::vector<std::string> inputs;
  for (const PatternParameter &p : pattern.parameters)
    inputs.push_back(p.name);
  for (const PerSequence &p : pattern.perSequence)
    inputs.push_back(upper(p.name));
  if (inputs.empty())
    inputs.push_back("0"); // Triton has no empty tuples
  const auto named = [&](bool there, const char *suffix) {
    return there ? name + "_" + suffix : std::string("None");
  };
  return "Pattern((" + joined(inputs, ", ") +
         (inputs.size() == 1 ? ",), " : "), ") + name + "_mask, " + name +
         "_keys, " + name + "_queries, " + named(gaps, "visible") + ", " +
         named(pattern.modify, "score") + ", " +
         named(backward && pattern.modify && !gradients.unitSlope,
               "score_grad") +
         ", " + named(backward && learned, "learned_grad") + ", " +
         named(!pattern.perSequence.empty(), "load") +
         (isCausal(pattern.sees) ? ", causal=True)" : ")");
}

std::string Writer::instance(const std::string &suffix,
                             const std::string &sizes, int64_t limit) const {
  std::string text = "# tessera: instance " + name + suffix + "(" + sizes;
  for (const PatternParameter &p : pattern.parameters) {
    text += ", " + p.name + "=" + smallValue(p.defaultValue, limit);
    if (p.defaultValue.is<Int>()) // `tessera check` multiplies the values
      limit = std::min<int64_t>(limit, 5);
  }
  return text + ")\n";
}

// The hints above a kernel. `suffix` is what its name adds to the pattern's.
std::string Writer::head(const std::string &suffix,
                         const std::string &halfTensors,
                         const std::string &fullTensors,
                         bool withGradients) const {
  std::string full = fullTensors, types, checks;
  for (const LearnedParameter *p : {sink, learned})
    if (p) {
      full += " " + upper(p->name);
      if (withGradients)
        full += " D" + upper(p->name);
      checks += (checks.empty() ? "" : ", ") + upper(p->name) +
                "=(0.0, 0.25, [T, H * G])";
    }
  for (const PerSequence &p : pattern.perSequence) {
    types += "\"" + upper(p.name) + ": *" + p.type + "\", ";
    checks += (checks.empty() ? "" : ", ") + upper(p.name) + "=(0, 40, [B])";
  }
  std::string text = "# tessera: types(\"" + halfTensors + ": *TYPE:16\", \"" +
                     full + ": *fp32:16\", \"CU: *i32:16\", " + types +
                     "\"scale: fp32\", \"T nseq: i32\", \"s*: i32:16\")\n";
  text += instance(suffix + "_f32",
                   "TYPE=\"fp32\", G=6, D=32, DP=32, DT=0, E=32, EP=32, "
                   "BM=32, BN=16",
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
                   "TYPE=\"bf16\", G=2, D=64, DP=64, DT=0, E=64, EP=64, "
                   "BM=32, BN=16",
                   41);
  text += "# tessera: cpu(BM=64, BN=32, SPLIT=0)\n"
          "# tessera: cpu(BM=32, BN=64, SPLIT=1)\n"
          "# tessera: space(BM=[16, 32, 64, 128], BN=[16, 32, 64, 128], "
          "SPLIT=[0, 1], where=G <= BM and BM * BN <= 8192)\n";
  if (!checks.empty())
    text += "# tessera: check(" + checks + ")\n";
  return text;
}

std::string Writer::rows(const LearnedParameter *parameter,
                         const std::string &prefix) const {
  return parameter ? "Rows(" + prefix + upper(parameter->name) + ", s" +
                         parameter->name + "t, s" + parameter->name + "h)"
                   : "None";
}

Pieces Writer::common() const {
  Pieces pieces = {{"NAME", name}};
  std::string &tensors = pieces["TENSORS"],
              &withGradients = pieces["GRADIENTS"],
              &strides = pieces["STRIDES"], &parameters = pieces["PARAMETERS"];
  for (const LearnedParameter *p : {sink, learned})
    if (p) {
      tensors += upper(p->name) + ", ";
      withGradients += upper(p->name) + ", D" + upper(p->name) + ", ";
      strides += ", s" + p->name + "t, s" + p->name + "h";
    }
  for (const PerSequence &p : pattern.perSequence) {
    tensors += upper(p.name) + ", ";
    withGradients += upper(p.name) + ", ";
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
  pieces["SINK"] = rows(sink, "");
  pieces["DSINK"] = rows(sink, "D");
  pieces["LEARNED"] = rows(learned, "");
  pieces["DLEARNED"] = rows(learned, "D");
  return pieces;
}

void Writer::addReference(Pieces &pieces) const {
  std::string &values = pieces["VALUES"];
  for (const PerSequence &p : pattern.perSequence)
    values +=
        "    " + p.name + " = tl.load(" + upper(p.name) + " + sequence)\n";
  for (const LearnedParameter *p : {sink, learned})
    if (p)
      values += "    " + p->name + " = tl.load(" + upper(p->name) +
                " + (start + t) * s" + p->name + "t + head * s" + p->name +
                "h)\n";
  pieces["SINK_WEIGHT"] = sink ? " + tl.exp(" + sink->name + " - base)" : "";
  pieces["SEES"] =
      pattern.sees ? "sees(" + joined(parametersOf(pattern.sees), ", ") + ")"
                   : "sees(t, pos)";
  pieces["MODIFY"] =
      pattern.modify ? "        s = modify(" +
                           joined(parametersOf(pattern.modify), ", ") + ")\n"
                     : "";
}

std::string Writer::kernels() const {
  Pieces pieces = common();
  addReference(pieces);
  std::string text = "\n\n" + replaceNames(referenceKernel, pieces);
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
  return text;
}

} // namespace

static bool hasDirective(const Module &module) {
  for (const StmtPtr &statement : module.body)
    if (const auto *function = statement->as<FunctionDef>())
      for (const HintComment &hint : function->hints)
        if (isPatternDirective(hint.text))
          return true;
  return false;
}

bool needsExpansion(std::string_view text) {
  return isPattern(text) && text.find(marker) == std::string_view::npos;
}

ExpandedPattern expandPattern(const std::shared_ptr<const SourceFile> &file) {
  ExpandedPattern result;
  const ParseResult parsed = parse(file);
  result.diagnostics = parsed.fileDiagnostics;
  if (!result.diagnostics.empty())
    return result;
  if (!hasDirective(*parsed.module)) { // it was part of a text
    result.text = file->text();
    return result;
  }
  const Pattern pattern = readPattern(*parsed.module, result.diagnostics);
  if (result.diagnostics.empty())
    checkNames(pattern, result.diagnostics);
  if (!result.diagnostics.empty())
    return result;
  const Visibility visibility = deriveVisibility(pattern);
  const Gradients gradients = deriveGradients(pattern);
  for (const std::string &helper : visibility.helpers)
    if (const FunctionDef *own = parsed.module->findFunction(helper))
      result.diagnostics.push_back(Diagnostic::make(
          DiagnosticId::InvalidHint, parsed.module->file, own->nameRange,
          "the kernels of a pattern import `" + helper + "`",
          "give the function another name"));
  for (const auto *found : {&visibility.diagnostics, &gradients.diagnostics})
    result.diagnostics.insert(result.diagnostics.end(), found->begin(),
                              found->end());
  if (!result.diagnostics.empty())
    return result;
  const Writer writer(std::filesystem::path(file->path()).stem().string(),
                      pattern, visibility, gradients);
  std::string text(file->text());
  if (!text.empty() && text.back() != '\n')
    text += '\n';
  text += "\n\n" + std::string(marker) +
          "\nimport triton\nimport triton.language as tl\n"
          "from kernels.attention.backward_kv import backward_kv\n"
          "from kernels.attention.backward_q import backward_q\n"
          "from kernels.attention.core import Pattern, Rows, Sizes\n"
          "from kernels.attention.forward import forward\n" +
          visibility.importLine();
  for (const std::string *derived : {&visibility.text, &gradients.text})
    if (!derived->empty())
      text += "\n\n" + *derived;
  result.text = text + writer.adapters() + writer.kernels();
  return result;
}

} // namespace tessera::language
