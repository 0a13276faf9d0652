// runtime/launch/PatternFile.cpp - finds files of attention patterns and tells
// what they declare.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/PatternFile.h"

#include "language/Decorators.h"
#include "language/Program.h"
#include "language/pattern/ParameterValues.h"
#include "language/pattern/Pattern.h"
#include "runtime/launch/FindFile.h"
#include "support/ArgumentError.h"
#include "support/Lists.h"
#include "support/Names.h"
#include "support/Options.h"
#include "support/Text.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace tessera::runtime {
namespace {

PatternFile read(const std::string &path) {
  const auto program = language::Program::loadFile(path);
  const SourceFile &source = *program->main().file;
  if (!language::isPattern(source.text())) {
    // A misspelt directive is an unknown hint, which this reports.
    for (const char *name : {"sees", "modify"})
      if (const auto *function = program->main().findFunction(name))
        language::describeKernel(*program, *function);
    throw ArgumentError(
        source.path() + " is not a pattern",
        "a pattern has a line `# tessera: pattern(...)` above its "
        "function sees or modify; attention.kernel names a file of "
        "kernels");
  }
  std::vector<Diagnostic> ignored; // the program has been loaded
  const language::Pattern pattern =
      language::readPattern(program->main(), ignored);
  PatternFile result;
  result.path = path;
  result.text = source.text();
  result.name = std::filesystem::path(path).stem().string();
  for (const auto &p : pattern.parameters)
    result.parameters.push_back({p.name, p.defaultValue});
  for (const auto &p : pattern.learned)
    result.learned.insert(p.name == "sink" ? result.learned.begin()
                                           : result.learned.end(),
                          inCapitals(p.name));
  for (const auto &p : pattern.perSequence)
    result.perSequence.push_back(inCapitals(p.name));
  if ((result.selection = pattern.selection))
    for (const std::string &name : result.selection->names())
      result.parameters.push_back({name, *result.selection->find(name)});
  result.program = program;
  result.decodes = result.selection || program->main().findFunction(
                                           result.name + "_decode") != nullptr;
  result.attendsToLaterKeys =
      program->main().findFunction(result.name + "_first_reader") != nullptr;
  return result;
}

ArgumentError wrongValue(const std::string &item, const std::string &file) {
  return ArgumentError("attention parameter `" + item + "` of " + file,
                       "write NAME=VALUE with a value of the default's type, "
                       "separated by commas: top=8, block=32");
}

bool isQuoted(std::string_view text) {
  return text.starts_with('\'') || text.starts_with('"');
}

// True for a word of letters, digits and _, other than a number or truth value.
bool isWord(std::string_view text) {
  return !text.empty() && !std::isdigit(uint8_t(text[0])) && text != "True" &&
         text != "true" && text != "False" && text != "false" &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isalnum(c) || c == '_';
         });
}

ArgumentError unknownParameter(const PatternFile &pattern,
                               const std::string &file,
                               const std::string &name) {
  return ArgumentError(
      file + " has no parameter `" + name + "`",
      pattern.parameters.empty()
          ? "leave `" + name + "` away"
          : nearestNameHint(
                name,
                namesOf(pattern.parameters, &PatternFile::Parameter::name),
                "parameters"));
}

// Parses "top=8, cap=30.0".
std::vector<std::pair<std::string, std::string>>
valuesOf(const std::string &parameters, const std::string &file) {
  std::vector<std::pair<std::string, std::string>> result;
  for (std::string_view rest = parameters; !rest.empty();) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view item = trimSpaces(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    if (item.empty())
      continue;
    const auto given = nameAndValueOf(item);
    if (!given)
      throw wrongValue(std::string(item), file);
    std::string name(trimSpaces(given->first));
    for (const auto &[other, before] : result)
      if (other == name)
        throw ArgumentError("attention parameters of " + file + " set `" +
                                name + "` twice",
                            "remove one of the two");
    result.emplace_back(std::move(name), trimSpaces(given->second));
  }
  return result;
}

// Returns the value in Python syntax, in the type of the parameter's default;
// nullopt for another type. An integer is accepted for a float, and a word has
// no quotes.
std::optional<std::string> writtenLike(const language::Value &defaultValue,
                                       const std::string &text) {
  if (defaultValue.is<std::string>())
    return language::Value(text).repr();
  if (const auto number = numberFromText<int64_t>(text)) {
    if (defaultValue.is<double>())
      return language::Value(double(*number)).repr();
    return defaultValue.is<language::Int>() ? std::optional(text)
                                            : std::nullopt;
  }
  const bool fits = defaultValue.is<bool>()
                        ? text == "True" || text == "False"
                        : defaultValue.is<double>() &&
                              numberFromText<double>(text).has_value();
  return fits ? std::optional(text) : std::nullopt;
}

// Returns the value of one parameter as it is written. Throws ArgumentError if
// it has another type than the default.
language::Value valueLike(const PatternFile &pattern,
                          const PatternFile::Parameter &parameter,
                          const std::string &text) {
  const language::Value &wanted = parameter.defaultValue;
  const auto refuse = [&](const std::string &hint) {
    throw ArgumentError("attention parameter `" + parameter.name + "=" + text +
                            "` of " + pattern.path + ": its default is " +
                            wanted.repr(),
                        hint);
  };
  if (isQuoted(text))
    refuse("write the value without quotation marks");
  if (wanted.is<std::string>()) {
    if (!isWord(text))
      refuse("give a word of letters, digits and _ that does not begin with a "
             "digit");
    return language::Value(text);
  }
  if (const auto number = numberFromText<int64_t>(text)) {
    if (wanted.is<double>())
      return language::Value(double(*number));
    if (wanted.is<language::Int>())
      return language::Value(language::Int(*number));
  } else if (const auto real = numberFromText<double>(text);
             real && wanted.is<double>() && std::isfinite(*real)) {
    return language::Value(*real);
  }
  const bool isTrue = text == "True" || text == "true";
  if (wanted.is<bool>() && (isTrue || text == "False" || text == "false"))
    return language::Value(isTrue);
  refuse(wanted.is<language::Int>() ? "give an integer from -2^30 to 2^30"
         : wanted.is<bool>()        ? "give True or False"
                                    : "give a finite number");
  return {};
}

// Throws the first diagnostic as an error of the caller, with its place.
void requireResult(const PatternFile &pattern,
                   const language::ParameterValues &values) {
  std::vector<Diagnostic> found;
  language::checkValues(language::readPattern(pattern.program->main(), found),
                        values, found);
  if (found.empty())
    return;
  const Diagnostic &first = found.front();
  throw ArgumentError(pattern.path + ":" + std::to_string(first.range.line) +
                          ":" + std::to_string(first.range.column) + ": " +
                          first.message,
                      first.hint);
}

// Returns the path of an existing file. Throws ArgumentError with the path that
// the caller may have meant.
std::string pathOfPattern(const std::string &file) {
  try {
    return findKernelFile(file);
  } catch (const Error &error) {
    const std::string stem = std::filesystem::path(file).stem().string();
    const std::vector<std::string> known = libraryPatterns();
    const bool isKnown =
        std::find(known.begin(), known.end(), stem) != known.end();
    const std::string nearest = isKnown ? stem : nearestName(stem, known);
    const std::string own = "my/" + (stem.empty() ? "near" : stem) + ".py";
    throw ArgumentError(
        "`" + file + "` is not the file of a pattern: " + error.message,
        nearest.empty()
            ? "name a file by its path, such as " + own +
                  ", and a pattern of the library as kernels/patterns/window.py"
            : "did you mean kernels/patterns/" + nearest +
                  ".py? a file of yours is named by its path, such as " + own);
  }
}

} // namespace

const PatternFile::Parameter *
PatternFile::find(const std::string &parameter) const {
  for (const Parameter &p : parameters)
    if (p.name == parameter)
      return &p;
  return nullptr;
}

bool isPatternFile(const std::string &file) {
  return language::isPattern(readFile(findKernelFile(file)));
}

std::shared_ptr<const PatternFile> readPatternFile(const std::string &file) {
  static std::mutex mutex;
  static auto *const known =
      new std::map<std::string, std::shared_ptr<const PatternFile>>;
  const std::string found = pathOfPattern(file);
  std::lock_guard<std::mutex> guard(mutex);
  auto &entry = (*known)[found];
  if (!entry)
    entry = std::make_shared<const PatternFile>(read(found));
  return entry;
}

void checkParameters(const PatternFile &pattern,
                     const std::string &parameters) {
  static std::mutex mutex;
  static auto *const checked =
      new std::set<std::pair<std::string, std::string>>;
  const std::pair key(pattern.path, parameters);
  std::lock_guard<std::mutex> guard(mutex);
  if (checked->contains(key))
    return;
  language::ParameterValues values;
  for (const PatternFile::Parameter &parameter : pattern.parameters)
    values[parameter.name] = parameter.defaultValue;
  for (const auto &[name, text] : valuesOf(parameters, pattern.path)) {
    const PatternFile::Parameter *parameter = pattern.find(name);
    if (!parameter)
      throw unknownParameter(pattern, pattern.path, name);
    values[name] = valueLike(pattern, *parameter, text);
  }
  requireResult(pattern, values);
  checked->insert(key);
}

std::optional<language::Selection>
selectionOfPattern(const std::string &file, const std::string &parameters) {
  const auto pattern = readPatternFile(file);
  std::optional<language::Selection> selection = pattern->selection;
  if (!selection)
    return selection;
  const std::vector<std::string> integers = selection->names();
  for (const auto &[name, text] : valuesOf(parameters, file)) {
    if (std::find(integers.begin(), integers.end(), name) == integers.end()) {
      if (!pattern->find(name))
        throw unknownParameter(*pattern, file, name);
      continue;
    }
    const auto value = numberFromText<int64_t>(text);
    if (!value)
      throw wrongValue(name + "=" + text, file);
    *selection->find(name) = *value;
  }
  if (const auto wrong = selection->problem())
    throw ArgumentError(file + ": " + wrong->first, wrong->second);
  return selection;
}

std::string constantsOfPattern(const std::string &file,
                               const std::string &parameters) {
  const auto pattern = readPatternFile(file);
  const std::vector<std::string> integers = pattern->selection
                                                ? pattern->selection->names()
                                                : std::vector<std::string>();
  std::string result;
  for (const auto &[name, text] : valuesOf(parameters, file)) {
    const PatternFile::Parameter *parameter = pattern->find(name);
    if (!parameter ||
        std::find(integers.begin(), integers.end(), name) != integers.end())
      continue;
    const auto value = writtenLike(parameter->defaultValue, text);
    if (!value)
      throw wrongValue(name + "=" + text, file);
    result += (result.empty() ? "" : ", ") + name + "=" + *value;
  }
  return result;
}

bool isKernelFile(const std::string &file) {
  try {
    return !findKernelFile(file).empty();
  } catch (const Error &) {
    return false;
  }
}

std::vector<std::string> libraryPatterns() {
  namespace fs = std::filesystem;
  const std::string chosen = optionText(Option::Kernels);
  const fs::path folder = chosen.empty() ? findFolder("kernels/patterns")
                                         : fs::path(chosen) / "patterns";
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto &entry : fs::directory_iterator(folder, ignored))
    if (entry.path().extension() == ".py")
      names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

} // namespace tessera::runtime
