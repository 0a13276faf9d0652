// runtime/launch/PatternFile.cpp - finds files of attention patterns and tells
// what they declare.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/PatternFile.h"

#include "language/Decorators.h"
#include "language/Program.h"
#include "language/pattern/Pattern.h"
#include "runtime/launch/FindFile.h"
#include "support/ArgumentError.h"
#include "support/Names.h"
#include "support/Options.h"
#include "support/Text.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <mutex>
#include <utility>

namespace tessera::runtime {
namespace {

std::string inCapitals(std::string text) {
  for (char &c : text)
    c = char(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

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
  result.decodes = result.selection || program->main().findFunction(
                                           result.name + "_decode") != nullptr;
  result.attendsToLaterKeys =
      program->main().findFunction(result.name + "_first_reader") != nullptr;
  return result;
}

// Reads "top=8, block=32".
std::vector<std::pair<std::string, int64_t>>
integersOf(const std::string &parameters, const std::string &file) {
  std::vector<std::pair<std::string, int64_t>> result;
  for (std::string_view rest = parameters; !rest.empty();) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view item = trimSpaces(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    if (item.empty())
      continue;
    const auto given = nameAndValueOf(item);
    const auto value = given
                           ? numberFromText<int64_t>(trimSpaces(given->second))
                           : std::nullopt;
    if (!value)
      throw ArgumentError(
          "attention parameter `" + std::string(item) + "` of " + file,
          "write NAME=INTEGER, separated by commas: top=8, block=32");
    std::string name(trimSpaces(given->first));
    for (const auto &[other, before] : result)
      if (other == name)
        throw ArgumentError("attention parameters of " + file + " set `" +
                                name + "` twice",
                            "remove one of the two");
    result.emplace_back(std::move(name), *value);
  }
  return result;
}

} // namespace

const PatternFile::Parameter *
PatternFile::find(const std::string &parameter) const {
  for (const Parameter &p : parameters)
    if (p.name == parameter)
      return &p;
  return nullptr;
}

std::shared_ptr<const PatternFile> readPatternFile(const std::string &file) {
  static std::mutex mutex;
  static auto *const known =
      new std::map<std::string, std::shared_ptr<const PatternFile>>;
  const std::string found = findKernelFile(file);
  std::lock_guard<std::mutex> guard(mutex);
  auto &entry = (*known)[found];
  if (!entry)
    entry = std::make_shared<const PatternFile>(read(found));
  return entry;
}

std::optional<language::Selection>
selectionOfPattern(const std::string &file, const std::string &parameters) {
  std::optional<language::Selection> selection =
      readPatternFile(file)->selection;
  if (!selection)
    return selection;
  for (const auto &[name, value] : integersOf(parameters, file)) {
    const auto known = selection->names();
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw ArgumentError(file + " has no parameter `" + name + "`",
                          nearestNameHint(name, known, "parameters"));
    *selection->find(name) = value;
  }
  if (const auto wrong = selection->problem())
    throw ArgumentError(file + ": " + wrong->first, wrong->second);
  return selection;
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
