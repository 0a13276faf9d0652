// language/pattern/Pattern.cpp - reads the directives of a pattern.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/pattern/Pattern.h"

#include "language/Evaluate.h"
#include "language/HintNames.h"
#include "language/Parser.h"
#include "language/pattern/SelectedPattern.h"
#include "support/Error.h"
#include "support/Names.h"
#include "support/Text.h"

#include <algorithm>
#include <array>

namespace tessera::language {

namespace {

constexpr std::array directives = {"pattern", "per_sequence", "learned",
                                   "select",  "streams",      "tiles"};

template <typename T>
const T *findNamed(const std::vector<T> &list, std::string_view name) {
  for (const T &one : list)
    if (one.name == name)
      return &one;
  return nullptr;
}

class PatternReader {
public:
  PatternReader(const Module &module, std::vector<Diagnostic> &diagnostics)
      : module(module), diagnostics(diagnostics) {
    pattern.module = &module;
  }

  Pattern read() {
    const size_t before = diagnostics.size();
    for (const StmtPtr &stmt : module.body)
      if (const auto *function = stmt->as<FunctionDef>())
        for (const HintComment &comment : function->hints)
          isPatternDirective(comment.text) ? readDirective(comment)
                                           : checkHint(comment);
    if (streams)
      readStreamsOf(*streams);
    // A name that a malformed directive declares may be missing.
    const bool isComplete = diagnostics.size() == before;
    pattern.sees = module.findFunction("sees");
    pattern.modify = module.findFunction("modify");
    pattern.seesTile = module.findFunction("sees_tile");
    pattern.keyRange = module.findFunction("key_range");
    pattern.queryRange = module.findFunction("query_range");
    pattern.modifyGrad = module.findFunction("modify_grad");
    for (const LearnedParameter &learned : pattern.learned)
      pattern.modifyGradOf.push_back(
          module.findFunction("modify_grad_" + learned.name));
    if (isComplete) {
      checkFunction(pattern.sees, {"t", "pos"}, {"head"});
      checkFunction(pattern.modify, {"s", "t", "pos", "head"}, {});
      checkUse();
    }
    if (hasListKernels(pattern))
      pattern.selection->derived = true;
    return std::move(pattern);
  }

private:
  void report(const SourceRange &range, std::string message, std::string hint) {
    diagnostics.push_back(
        Diagnostic::make(DiagnosticId::InvalidHint, module.file, range,
                         std::move(message), std::move(hint)));
  }

  // Checks a hint. Hints other than directives belong to kernels in the same
  // file.
  void checkHint(const HintComment &comment) {
    const std::string name = comment.text.substr(
        0, std::min(comment.text.find_first_of(" \t("), comment.text.size()));
    const std::vector<std::string> &hints = knownHints();
    const std::vector<std::string> known(directives.begin(), directives.end());
    if (std::find(known.begin(), known.end(), name) != known.end())
      report(comment.range,
             "the directive `" + name + "` is written differently",
             "write " + formOf(name));
    else if (std::find(hints.begin(), hints.end(), name) == hints.end())
      report(comment.range, "unknown directive `" + name + "`",
             nearestNameHint(name, known, "directives"));
  }

  // Returns an example of the directive that a text begins with.
  static std::string formOf(std::string_view text) {
    static constexpr std::pair<std::string_view, std::string_view> forms[] = {
        {"per_sequence", "per_sequence(prefix=i32)"},
        {"learned", "learned(slope=[Hq])"},
        {"select", "select(block=64, top=16, score=pooled(mean))"},
        {"streams", "streams(compressed, selected, window(512))"},
        {"tiles",
         "tiles(BM=64, BN=32), or with runs tiles(BM=64, BN=32, RUN=16)"}};
    std::string form = "pattern(window=512)";
    for (const auto &[name, example] : forms)
      if (text.starts_with(name))
        form = example;
    return "# tessera: " + form;
  }

  void readDirective(const HintComment &comment) {
    ExprPtr expr;
    try {
      expr = parseExpression(
          std::make_shared<SourceFile>(module.file->path(), comment.text));
    } catch (const CompileError &error) {
      return report(comment.range,
                    "malformed directive: " +
                        (error.diagnostics.empty()
                             ? error.message
                             : error.diagnostics[0].message),
                    "write " + formOf(comment.text));
    }
    const auto *call = expr->as<Call>();
    const auto *name = call ? call->function->as<Name>() : nullptr;
    if (name && name->id == "streams") {
      if (streams)
        report(comment.range, "streams(...) is declared twice",
               "remove one of the two");
      streams = &comment; // read after select(...), wherever that is
      return;
    }
    if (!name || !call->arguments.empty())
      return report(comment.range, "a directive takes names and values",
                    "write " + formOf(comment.text));
    if (name->id == "select")
      return readSelect(*call, comment.range);
    if (name->id == "tiles")
      return readTiles(*call, comment.range);
    for (const Keyword &keyword : call->keywords) {
      if (isDeclared(keyword.name)) {
        report(comment.range, "`" + keyword.name + "` is declared twice",
               "remove one of the two");
        continue;
      }
      if (isReserved(keyword.name)) {
        report(comment.range,
               "`" + keyword.name + "` is an argument of every pattern",
               "give the parameter another name");
        continue;
      }
      if (name->id == "pattern")
        readParameter(keyword, comment.range);
      else if (name->id == "per_sequence")
        readPerSequence(keyword, comment.range);
      else
        readLearned(keyword, comment.range);
    }
  }

  void readSelect(const Call &call, const SourceRange &range) {
    if (pattern.selection)
      return report(range, "select(...) is declared twice",
                    "remove one of the two");
    pattern.selection = readSelection(call, range, module.file, diagnostics);
  }

  void readStreamsOf(const HintComment &comment) {
    const ExprPtr expression = parseExpression(
        std::make_shared<SourceFile>(module.file->path(), comment.text));
    if (!pattern.selection)
      pattern.selection.emplace().scorer = Scorer::None;
    readStreams(*expression->as<Call>(), comment.range, module.file,
                *pattern.selection, diagnostics);
  }

  void readTiles(const Call &call, const SourceRange &range) {
    if (pattern.tiles)
      return report(range, "tiles(...) is declared twice",
                    "remove one of the two");
    CpuTiles tiles{0, 0, 0, range};
    const std::string form = "write " + formOf("tiles");
    for (const Keyword &keyword : call.keywords) {
      const auto *number = keyword.value->as<Constant>();
      const Int *given = number ? number->value.get<Int>() : nullptr;
      constexpr Int most = 1 << 20; // fits all fields
      const bool isPower =
          given && *given > 0 && *given <= most && (*given & (*given - 1)) == 0;
      const auto size = isPower ? int64_t(*given) : -1;
      if (keyword.name == "RUN")
        tiles.run = size;
      else if (keyword.name == "BM" || keyword.name == "BN")
        (keyword.name == "BM" ? tiles.rows : tiles.keys) = size;
      else
        return report(range, "tiles(...) has no `" + keyword.name + "`", form);
    }
    const auto isTile = [](int64_t size) { return size >= 16 && size <= 128; };
    constexpr int64_t mostRuns = 16; // a kernel has a search for each
    if (isTile(tiles.rows) && isTile(tiles.keys) && tiles.run >= 0 &&
        tiles.run < tiles.keys &&
        tiles.keys <= mostRuns * (tiles.run ? tiles.run : tiles.keys))
      pattern.tiles = tiles;
    else
      report(range,
             "tiles(...) takes the rows BM and the keys BN, powers of two from "
             "16 to 128, and may take RUN, a power of two from BN / 16 to "
             "BN / 2",
             form);
  }

  static bool isReserved(std::string_view name) {
    return name == "s" || name == "t" || name == "pos" || name == "head";
  }

  bool isDeclared(std::string_view name) const {
    return pattern.findParameter(name) || pattern.findPerSequence(name) ||
           pattern.findLearned(name);
  }

  void readParameter(const Keyword &keyword, const SourceRange &range) {
    Value value;
    try {
      value =
          evaluate(*keyword.value, std::make_shared<MapScope>(), module.file);
    } catch (const CompileError &) {
      // Reported below: None is not a value of a parameter.
    }
    if (!value.is<Int>() && !value.is<bool>() && !value.is<double>() &&
        !value.is<std::string>())
      return report(range,
                    "the default of `" + keyword.name +
                        "` must be an int, float, bool or string",
                    "write pattern(" + keyword.name + "=64)");
    pattern.parameters.push_back({keyword.name, std::move(value), range});
  }

  void readPerSequence(const Keyword &keyword, const SourceRange &range) {
    const std::string type = dump(*keyword.value);
    if (type != "i32")
      return report(range,
                    "`" + type + "` is not the type of a value of a sequence",
                    "write per_sequence(" + keyword.name + "=i32)");
    pattern.perSequence.push_back({keyword.name, type, range});
  }

  void readLearned(const Keyword &keyword, const SourceRange &range) {
    LearnedParameter learned{keyword.name, {}, range};
    const auto *sizes = keyword.value->as<ListExpr>();
    bool isShape = sizes && !sizes->elements.empty();
    if (isShape)
      for (const ExprPtr &size : sizes->elements) {
        const auto *number = size->as<Constant>();
        isShape &= size->is<Name>() || (number && number->value.is<Int>());
        learned.shape.push_back(dump(*size));
      }
    if (!isShape)
      return report(
          range, "the shape of `" + keyword.name + "` must be a list of sizes",
          "write learned(" + keyword.name + "=[Hq])");
    pattern.learned.push_back(std::move(learned));
  }

  // Returns the names that a parameter of a function may have.
  std::vector<std::string> declaredNames() const {
    std::vector<std::string> names;
    for (const PatternParameter &one : pattern.parameters)
      names.push_back(one.name);
    for (const PerSequence &one : pattern.perSequence)
      names.push_back(one.name);
    for (const LearnedParameter &one : pattern.learned)
      names.push_back(one.name);
    return names;
  }

  void checkFunction(const FunctionDef *function,
                     const std::vector<std::string> &fixed,
                     const std::vector<std::string> &optional) {
    if (!function)
      return;
    if (!function->isJit)
      report(function->nameRange, "`" + function->name + "` is not compiled",
             "write @triton.jit above it");
    const auto &parameters = function->parameters;
    for (size_t i = 0; i < fixed.size(); ++i)
      if (i >= parameters.size() || parameters[i].name != fixed[i])
        return report(function->nameRange,
                      "`" + function->name + "` must take `" + fixed[i] +
                          "` as parameter " + std::to_string(i + 1),
                      "write def " + function->name + "(" + joined(fixed) +
                          ", ...)");
    std::vector<std::string> known = declaredNames();
    known.insert(known.end(), optional.begin(), optional.end());
    for (size_t i = fixed.size(); i < parameters.size(); ++i) {
      const Parameter &parameter = parameters[i];
      if (std::find(known.begin(), known.end(), parameter.name) == known.end())
        report(parameter.range,
               "no directive declares the parameter `" + parameter.name + "`",
               nearestName(parameter.name, known).empty()
                   ? "write # tessera: pattern(" + parameter.name +
                         "=DEFAULT) above the function"
                   : nearestNameHint(parameter.name, known, "parameters"));
      else
        checkAnnotation(*function, parameter);
    }
    if (function == pattern.sees)
      for (const Parameter &parameter : parameters)
        if (pattern.findLearned(parameter.name))
          report(parameter.range,
                 "`sees` takes the learned parameter `" + parameter.name + "`",
                 "use it in `modify` only");
  }

  // Checks that exactly the parameters of pattern(...) are constexprs.
  void checkAnnotation(const FunctionDef &function,
                       const Parameter &parameter) {
    const bool isParameter = pattern.findParameter(parameter.name) != nullptr;
    if (isParameter == parameter.isConstexpr)
      return;
    report(parameter.range,
           "`" + parameter.name + "` of `" + function.name + "` " +
               (isParameter ? "must be a tl.constexpr"
                            : "is known at run time only"),
           isParameter ? "write " + parameter.name + ": tl.constexpr"
                       : "write " + parameter.name + " without tl.constexpr");
  }

  static std::string joined(const std::vector<std::string> &names) {
    std::string text;
    for (const std::string &name : names)
      text += (text.empty() ? "" : ", ") + name;
    return text;
  }

  // Checks that each declared name is a parameter of a function. Only a learned
  // tensor that joins the denominator needs none.
  void checkUse() {
    std::vector<std::string> taken;
    for (const FunctionDef *function : {pattern.sees, pattern.modify})
      if (function)
        for (const Parameter &parameter : function->parameters)
          taken.push_back(parameter.name);
    auto check = [&](const std::string &name, const SourceRange &range) {
      if (std::find(taken.begin(), taken.end(), name) != taken.end())
        return;
      std::vector<std::string> others;
      for (const std::string &other : taken)
        if (!isDeclared(other) && !isReserved(other))
          others.push_back(other);
      const std::string nearest = nearestName(name, others);
      report(range, "no function takes `" + name + "`",
             nearest.empty() ? "add the parameter to `sees` or `modify`, or "
                               "remove it from the directive"
                             : "did you mean `" + nearest + "`?");
    };
    for (const PatternParameter &one : pattern.parameters)
      check(one.name, one.range);
    for (const PerSequence &one : pattern.perSequence)
      check(one.name, one.range);
  }

  const Module &module;
  std::vector<Diagnostic> &diagnostics;
  const HintComment *streams = nullptr; // the directive, once it is found
  Pattern pattern;
};

} // namespace

const PatternParameter *Pattern::findParameter(std::string_view name) const {
  return findNamed(parameters, name);
}
const PerSequence *Pattern::findPerSequence(std::string_view name) const {
  return findNamed(perSequence, name);
}
const LearnedParameter *Pattern::findLearned(std::string_view name) const {
  return findNamed(learned, name);
}

bool isPatternDirective(std::string_view hint) {
  return std::any_of(
      directives.begin(), directives.end(), [&](std::string_view name) {
        return hint.starts_with(name) &&
               trimSpaces(hint.substr(name.size())).starts_with('(');
      });
}

bool isPattern(std::string_view text) {
  for (std::string_view line : splitLines(text)) {
    line = trimSpaces(line);
    if (!line.starts_with('#'))
      continue;
    line = trimSpaces(line.substr(1));
    constexpr std::string_view marker = "tessera:";
    if (line.starts_with(marker) &&
        isPatternDirective(trimSpaces(line.substr(marker.size()))))
      return true;
  }
  return false;
}

Pattern readPattern(const Module &module,
                    std::vector<Diagnostic> &diagnostics) {
  return PatternReader(module, diagnostics).read();
}

} // namespace tessera::language
