// language/Hints.cpp - reads `# tessera:` comments above a kernel.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/Hints.h"

#include "language/HintNames.h"
#include "language/HintTypes.h"
#include "language/Parser.h"
#include "language/TupleText.h"
#include "language/pattern/Pattern.h"
#include "support/Error.h"
#include "support/Names.h"

#include <algorithm>

namespace tessera::language {

namespace {

class HintReader {
public:
  HintReader(const Program &program, const FunctionDef &function,
             const Signature &signature, std::vector<Diagnostic> &diagnostics)
      : program(program), function(function), signature(signature),
        diagnostics(diagnostics) {}

  Hints read() {
    // Reads types() before the instances, wherever its line is.
    for (bool isTypes : {true, false})
      for (const HintComment &comment : function.hints)
        if (comment.text.starts_with("types(") == isTypes &&
            !isPatternDirective(comment.text))
          readComment(comment);
    return std::move(hints);
  }

private:
  void readComment(const HintComment &comment) {
    hint = &comment;
    try {
      readOne(comment.text);
    } catch (const CompileError &error) {
      if (const std::string quoted = quotedTypes(comment.text);
          quoted != comment.text)
        return report("the types of a hint are texts",
                      "write # tessera: " + quoted);
      report("malformed hint: " + (error.diagnostics.empty()
                                       ? error.message
                                       : error.diagnostics[0].message),
             error.diagnostics.empty() ? error.hint
                                       : error.diagnostics[0].hint);
    } catch (const Error &error) {
      report(error.message, error.hint);
    }
  }

  // Returns the hint with quotes around unquoted types: X=*fp32:16, n=i32.
  static std::string quotedTypes(const std::string &text) {
    std::string result;
    for (size_t at = 0; at < text.size();) {
      result += text[at++];
      if (result.back() != '=')
        continue;
      while (at < text.size() && text[at] == ' ')
        result += text[at++];
      const size_t end = text.find_first_of(" ,)", at);
      if (end == std::string::npos)
        continue;
      const std::string word = text.substr(at, end - at);
      const std::string plain = word.substr(word.starts_with('*') ? 1 : 0);
      if (elementBits(plain.substr(0, plain.find(':'))) == 0)
        continue;
      result += "\"" + word + "\"";
      at = end;
    }
    return result;
  }

  void report(std::string message, std::string help) {
    if (help.empty())
      help = "write # tessera: NAME(...)";
    diagnostics.push_back(
        Diagnostic::make(DiagnosticId::InvalidHint, function.file, hint->range,
                         std::move(message), std::move(help)));
  }

  void readOne(std::string text) {
    static const std::string instance = "instance";
    bool isInstance = text.starts_with(instance + " ");
    if (isInstance)
      text.erase(0, instance.size() + 1);
    if (size_t first = text.find_first_not_of(" \t"); first != 0)
      text.erase(0, first);
    // If there are two words, the first is a misspelt `instance`.
    const size_t word = text.find_first_of(" \t(");
    if (!isInstance && word != std::string::npos && text[word] != '(' &&
        text.find('(', word) != std::string::npos)
      throw unknownHint(text.substr(0, word));
    ExprPtr expr = parseExpression(
        std::make_shared<SourceFile>(function.file->path(), text));
    auto *call = expr->as<Call>();
    const auto *name = (call ? call->function.get() : expr.get())->as<Name>();
    if (!name)
      throw Error("a hint is a name with arguments",
                  "write # tessera: cpu(BM=32)");
    if (isInstance)
      return readInstance(name->id, call);
    readNamed(name->id, call);
  }

  static Error unknownHint(const std::string &name) {
    return Error("unknown hint `" + name + "`",
                 nearestNameHint(name, knownHints(), "hints"));
  }

  void readNamed(const std::string &name, Call *call) {
    if (name == "grid" && call)
      return readGrid(*call);
    if (name == "check" && call)
      return readCheck(*call);
    if (name == "cpu" && call)
      return readCpu(*call);
    if (name == "types" && call)
      return readTypes(*call);
    if (name == "space" && call)
      return readSpace(*call);
    if (name == "stages" && call)
      return readStages(*call);
    const std::pair<const char *, bool *> switches[] = {
        {"swap_ab", &hints.swapAb},
        {"predicate", &hints.predicate},
        {"constant_inputs", &hints.constantInputs}};
    for (const auto &[known, isSet] : switches)
      if (name == known && !call) {
        *isSet = true;
        return;
      }
    const auto &known = knownHints();
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw unknownHint(name);
    throw Error("the hint `" + name + "` is written differently",
                "forms: instance NAME(...), types(\"X Y: *T:16\"), cpu(BM=32), "
                "space(BM=[16, 32]), "
                "stages(k=3), swap_ab, predicate, constant_inputs, "
                "grid(cdiv(N, BLOCK)), "
                "check(X=[N])");
  }

  Value value(const Expr &expr) {
    return evaluate(expr, program.scope(function), function.file);
  }

  [[noreturn]] void unknownParameter(const std::string &name) {
    std::vector<std::string> names = types.variableNames();
    for (const KernelParameter &parameter : signature.parameters)
      names.push_back(parameter.name);
    for (const TupleParameter &tuple : signature.tuples)
      names.push_back(tuple.name);
    throw Error("`" + signature.kernel + "` has no parameter `" + name + "`",
                nearestNameHint(name, names, "parameters"));
  }

  static int64_t count(const Value &value, const std::string &name) {
    auto number = value.asInt();
    if (!number || *number < 0 || *number > 64)
      throw Error("`" + name + "` must be a number of 0 to 64",
                  "write " + name + "=4");
    return int64_t(*number);
  }

  void readTypes(const Call &call) {
    if (!call.keywords.empty() || call.arguments.empty())
      throw Error("types() takes texts of names and their type",
                  "write types(\"Q K V: *T:16\", \"scale: fp32\")");
    if (typesAreThere)
      throw Error("the types are given twice", "write them in one types()");
    typesAreThere = true;
    for (const ExprPtr &argument : call.arguments) {
      const Value entry = value(*argument);
      const std::string *text = entry.get<std::string>();
      if (!text)
        throw Error("types() takes texts of names and their type",
                    "write types(\"Q K V: *T:16\", \"scale: fp32\")");
      types.add(signature, *text);
    }
    types.resolve(signature);
  }

  // Returns the type that an instance gives for a variable of types(): "fp32".
  std::string element(const Keyword &keyword) {
    const Value given = value(*keyword.value);
    const std::string *text = given.get<std::string>();
    if (!text || elementBits(*text) == 0)
      throw Error(
          "the type `" + keyword.name + "` must be an element type",
          text ? nearestNameHint(*text, elementTypeNames(), "element types")
               : "write " + keyword.name + "=\"fp32\"");
    return *text;
  }

  void readInstance(const std::string &name, const Call *call) {
    if (!call || !call->arguments.empty())
      throw Error("an instance names its arguments",
                  "write instance NAME(Q=\"*bf16:16\", D=64)");
    for (const Instance &other : hints.instances)
      if (other.name == name)
        throw Error("the instance `" + name + "` is there twice",
                    "give it another name");
    Instance instance;
    instance.name = name;
    std::map<std::string, Value> given;
    std::map<std::string, std::string> elements;
    for (const Keyword &keyword : call->keywords) {
      if (signature.find(keyword.name) >= 0)
        given[keyword.name] = value(*keyword.value);
      else if (const TupleParameter *tuple = signature.findTuple(keyword.name))
        readTuple(*tuple, value(*keyword.value), given);
      else if (types.isVariable(keyword.name))
        elements[keyword.name] = element(keyword);
      else if (keyword.name == "num_warps")
        instance.numWarps = count(value(*keyword.value), keyword.name);
      else if (keyword.name == "num_stages")
        instance.numStages = count(value(*keyword.value), keyword.name);
      else
        unknownParameter(keyword.name);
    }
    for (const KernelParameter &parameter : signature.parameters) {
      if (const auto found = given.find(parameter.name); found != given.end())
        instance.arguments.push_back(
            argumentFromValue(parameter, found->second));
      else if (auto shared = types.valueOf(parameter.name, elements, name))
        instance.arguments.push_back(argumentFromValue(parameter, *shared));
      else if (parameter.hasDefault)
        instance.arguments.push_back(
            specialize(parameter, parameter.defaultValue));
      else
        throw Error("the instance `" + name + "` says nothing of `" +
                        parameter.name + "`",
                    parameter.isConstexpr
                        ? "add its value, as in " + parameter.name + "=64"
                        : "add its type, as in " + parameter.name +
                              "=\"*fp32:16\" or \"i32\"");
    }
    hints.instances.push_back(std::move(instance));
  }

  // Reads the leaves of a tuple: "Rows(*fp32:16, i32, 1)", ("*fp32:16", "i32",
  // 1) or Sizes(G=4, D=64).
  void readTuple(const TupleParameter &tuple, const Value &given,
                 std::map<std::string, Value> &leaves) {
    const auto *text = given.get<std::string>();
    if (!text || !isTupleText(*text))
      return addLeaves(signature, tuple, given, leaves);
    addLeavesOfText(
        signature, tuple, *text,
        [&](const std::string &leaf) {
          const auto file =
              std::make_shared<SourceFile>(function.file->path(), leaf);
          return ArgClass::parse(leaf)
                     ? Value(leaf)
                     : evaluate(*parseExpression(file), program.scope(function),
                                file);
        },
        leaves);
  }

  void readCpu(const Call &call) {
    if (!call.arguments.empty())
      throw Error("cpu() takes names and values", "write cpu(BM=32, BN=64)");
    Value::Config config;
    for (const Keyword &keyword : call.keywords) {
      int index = signature.find(keyword.name);
      if (index < 0)
        unknownParameter(keyword.name);
      if (!signature.parameters[size_t(index)].isConstexpr)
        throw Error("`" + keyword.name + "` is not a tl.constexpr",
                    "a configuration sets constexprs only");
      config.constexprs.emplace_back(keyword.name, value(*keyword.value));
    }
    hints.cpuConfigs.push_back(std::move(config));
  }

  // Returns the values of one constexpr in a search space.
  std::vector<Value> valuesOf(const Keyword &keyword) {
    const int index = signature.find(keyword.name);
    if (index < 0)
      unknownParameter(keyword.name);
    if (!signature.parameters[size_t(index)].isConstexpr)
      throw Error("`" + keyword.name + "` is not a tl.constexpr",
                  "a space has constexprs only");
    const Value list = value(*keyword.value);
    const std::vector<Value> *items = list.sequence();
    if (!items || items->empty())
      throw Error("`" + keyword.name + "` is not a list of values",
                  "write " + keyword.name + "=[16, 32, 64]");
    return *items;
  }

  void readSpace(Call &call) {
    if (!call.arguments.empty())
      throw Error("space() takes names and lists of values",
                  "write space(BM=[16, 32], BN=[32, 64])");
    Hints::Space space;
    size_t count = 1;
    for (Keyword &keyword : call.keywords) {
      if (keyword.name == "where") {
        space.where = std::move(keyword.value);
        continue;
      }
      for (const auto &[name, values] : space.values)
        if (name == keyword.name)
          throw Error("space() has `" + name + "` twice",
                      "write all of its values in one list");
      space.values.emplace_back(keyword.name, valuesOf(keyword));
      count *= std::min(space.values.back().second.size(), mostOfSpace + 1);
      if (count > mostOfSpace)
        throw Error("a space of more than " + std::to_string(mostOfSpace) +
                        " configurations",
                    "leave out values that are not worth a try");
    }
    if (space.values.empty())
      throw Error("space() has no constexpr",
                  "write space(BM=[16, 32], BN=[32, 64])");
    hints.spaces.push_back(std::move(space));
  }

  void readGrid(Call &call) {
    if (!call.keywords.empty() || call.arguments.empty() ||
        call.arguments.size() > 3)
      throw Error("grid() takes one to three sizes",
                  "write grid(cdiv(N, BLOCK)) or grid(cdiv(S*G, BM), H, B)");
    if (hints.grid)
      throw Error("the grid is given twice", "remove one of the two");
    auto tuple = std::make_unique<TupleExpr>(call.range);
    tuple->elements = std::move(call.arguments);
    hints.grid = std::move(tuple);
  }

  void readCheck(Call &call) {
    if (!call.arguments.empty() || call.keywords.empty())
      throw Error("check() takes names and values",
                  "write check(X=[N, 64], N=[1, 33])");
    for (Keyword &keyword : call.keywords) {
      for (const Hints::Check &other : hints.check)
        if (other.name == keyword.name)
          throw Error("check() says twice what `" + keyword.name + "` is",
                      "remove one of the two");
      addCheck(keyword.name, std::move(keyword.value));
    }
  }

  // Adds the value that tools pass for a parameter or, for a tuple, for each of
  // its leaves: q=([T, H, D], H * D, D).
  void addCheck(const std::string &name, ExprPtr value) {
    const TupleParameter *tuple = signature.findTuple(name);
    if (!tuple) {
      hints.check.push_back({name, std::move(value), hint->range});
      return;
    }
    auto *call = value->as<Call>();
    auto *plain = value->as<TupleExpr>();
    auto *values = call ? &call->arguments : plain ? &plain->elements : nullptr;
    if (!values || values->size() != tuple->fields.size())
      throw Error("check() gives `" + name + "`, a tuple, " +
                      (values ? std::to_string(values->size()) + " values"
                              : "one value"),
                  "give the values as " + formOf(*tuple));
    for (size_t i = 0; i < values->size(); ++i)
      addCheck(name + "." + tuple->fields[i], std::move((*values)[i]));
  }

  void readStages(const Call &call) {
    if (!call.arguments.empty() || call.keywords.size() != 1 ||
        call.keywords[0].name != "k")
      throw Error("stages() takes k, a number", "write stages(k=3)");
    hints.stages = count(value(*call.keywords[0].value), "k");
  }

  const Program &program;
  const FunctionDef &function;
  const Signature &signature;
  std::vector<Diagnostic> &diagnostics;
  const HintComment *hint = nullptr;
  HintTypes types;
  bool typesAreThere = false;
  Hints hints;
};

} // namespace

Hints readHints(const Program &program, const FunctionDef &function,
                const Signature &signature,
                std::vector<Diagnostic> &diagnostics) {
  return HintReader(program, function, signature, diagnostics).read();
}

} // namespace tessera::language
