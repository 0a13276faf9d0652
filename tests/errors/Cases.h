// tests/errors/Cases.h - reads the cases of tests/errors/cases, and replaces
// their expected texts.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

namespace tessera::test {

// One section of a file. ErrorsTest.cpp describes the form of the files.
struct Case {
  std::filesystem::path file;
  std::string name;
  std::string source;   // the section up to its line `# expect:`
  std::string kernel;   // the part of `source` after the opening comments
  std::string expected; // the message, without the prefix `# | `
};

// Names a case in the output of GoogleTest.
inline void PrintTo(const Case &section, std::ostream *out) {
  *out << section.file.filename().string() << ": " << section.name;
}

// Returns the sections of a file. Throws Error if a section does not have the
// form that ErrorsTest.cpp describes.
std::vector<Case> readCases(const std::filesystem::path &file);

// Returns the sections of every file of a folder, in the order of the names of
// the files.
std::vector<Case> readFolder(const std::filesystem::path &folder);

// Writes `expected` as the expected text of one section. The rest of the file
// remains as it is.
void replaceExpected(const Case &section, const std::string &expected);

} // namespace tessera::test
