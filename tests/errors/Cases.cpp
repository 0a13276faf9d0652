// tests/errors/Cases.cpp - reads the cases of tests/errors/cases, and replaces
// their expected texts.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/errors/Cases.h"

#include "support/Error.h"
#include "support/File.h"

#include <algorithm>
#include <sstream>

namespace tessera::test {
namespace {

namespace fs = std::filesystem;

const std::string kSeparator = "\n# -----\n";
const std::string kExpect = "\n# expect:\n";

// Returns `text` without empty lines at its end.
std::string withoutEmptyLines(const std::string &text) {
  const size_t last = text.find_last_not_of('\n');
  return last == std::string::npos ? "" : text.substr(0, last + 1) + "\n";
}

// Returns the part before the first separator, then the text of each section.
std::vector<std::string> split(const std::string &text) {
  std::vector<std::string> result;
  size_t from = 0;
  for (size_t to; (to = text.find(kSeparator, from)) != std::string::npos;
       from = to + kSeparator.size())
    result.push_back(text.substr(from, to - from));
  result.push_back(text.substr(from));
  return result;
}

std::string readExpected(const std::string &text, const std::string &place) {
  std::string result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line != "# |" && !line.starts_with("# | "))
      throw Error(place + ": a line after `# expect:` does not begin with " +
                  "`# | `: " + line);
    result += line.size() > 4 ? line.substr(4) : "";
    result += "\n";
  }
  return result;
}

Case readCase(const fs::path &file, const std::string &text) {
  Case result;
  result.file = file;
  result.name = text.substr(0, text.find(" - "));
  const std::string place = file.filename().string() + ": " + result.name;
  const size_t expect = text.find(kExpect);
  result.source = withoutEmptyLines(text.substr(0, expect));
  const size_t notes = result.source.find("\n\n");
  if (!result.name.starts_with("# ") || notes == std::string::npos)
    throw Error(place + ": expected `# NAME - TITLE` after `# -----`, " +
                "comments, an empty line and code");
  result.name.erase(0, 2);
  result.kernel = result.source.substr(notes + 2);
  if (expect != std::string::npos)
    result.expected = readExpected(
        withoutEmptyLines(text.substr(expect + kExpect.size())), place);
  return result;
}

std::string render(const Case &section) {
  std::string text = kSeparator + section.source;
  if (!section.expected.empty())
    text += kExpect;
  std::istringstream lines(section.expected);
  for (std::string line; std::getline(lines, line);)
    text += (line.empty() ? "# |" : "# | " + line) + "\n";
  return text;
}

} // namespace

std::vector<Case> readCases(const fs::path &file) {
  const std::vector<std::string> parts = split(readFile(file));
  std::vector<Case> result;
  for (size_t i = 1; i < parts.size(); ++i)
    result.push_back(readCase(file, parts[i]));
  if (result.empty())
    throw Error(file.string() + ": no line `# -----`, so no case");
  return result;
}

std::vector<Case> readFolder(const fs::path &folder) {
  std::vector<fs::path> files;
  for (const auto &entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".py")
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<Case> result;
  for (const fs::path &file : files)
    for (Case &section : readCases(file))
      result.push_back(std::move(section));
  return result;
}

void replaceExpected(const Case &section, const std::string &expected) {
  std::string text = withoutEmptyLines(split(readFile(section.file)).front());
  for (Case &each : readCases(section.file)) {
    if (each.name == section.name)
      each.expected = expected;
    text += render(each);
  }
  writeFile(section.file, text);
}

} // namespace tessera::test
