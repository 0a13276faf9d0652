// tests/errors/ErrorsTest.cpp - compares the complete message of every case of
// the catalogue.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// cases/ID.py contains the kernel files whose first message has the id ID. A
// line `# -----` begins a section, which is one kernel file with one mistake:
//
//   # -----
//   # NAME - TITLE
//   # Why: why the compiler refuses the file
//   # Fix: what to write instead; a text continues on lines that begin with
//   #   "#   "
//
//   the kernel file
//
//   # expect:
//   # | the message, each line after "# | "
//
// The test compiles each section as a file by itself, under the name kernel.py.
// Line 1 of its messages is the first line after the empty line that ends the
// comments. A section imports from the files of modules/. NAME is unique in the
// catalogue and names the test: All/Catalogue.ReportsExactly/NAME with `_` for
// `-`.
//
// UPDATE_ERRORS=1 writes the expected texts: read them before committing. A new
// section needs no line `# expect:` for that.
//
// launches.py has the same form. Its sections are Python programs with one
// wrong launch each, which launch_test.py runs.
#include "compiler/Compile.h"
#include "language/Decorators.h"
#include "language/Expand.h"
#include "language/Program.h"
#include "support/Error.h"
#include "support/File.h"
#include "tests/errors/Cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>

namespace tessera::test {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = ERRORS_DIR;

std::vector<Case> cases() { return readFolder(kFolder / "cases"); }

// The text that the compiler prints for a case, and the ids in it.
struct Said {
  std::string text;
  std::vector<std::string> ids;

  void add(const std::vector<Diagnostic> &diagnostics) {
    text += renderDiagnostics(diagnostics);
    for (const Diagnostic &diagnostic : diagnostics)
      ids.push_back(diagnosticName(diagnostic.id));
  }
};

// As `tessera compile` does: parse, describe, compile every instance.
Said compileCase(const Case &section) {
  Said said;
  try {
    auto program = language::Program::load(
        "kernel.py", section.kernel, [](const std::string &path) {
          return tryReadFile((kFolder / "modules" / path).string());
        });
    for (const language::StmtPtr &statement : program->main().body) {
      const auto *function = statement->as<language::FunctionDef>();
      if (!function || !function->isJit)
        continue;
      const auto info = language::describeKernel(*program, *function);
      for (const language::Instance &instance : info.hints.instances) {
        auto request = language::makeRequest(*program, function->name);
        request.args = instance.arguments;
        request.target = "cpu:x86-64-v3:0000";
        const auto result = compiler::compile(request);
        said.text += result.rendered;
        for (const auto &record : result.diagnostics)
          said.ids.push_back(record.id);
        if (!result.ok)
          return said;
      }
    }
  } catch (const CompileError &error) {
    said.add(error.diagnostics);
  } catch (const Error &error) {
    said.text += std::string("error: ") + error.what() + "\n";
  }
  return said;
}

class Catalogue : public testing::TestWithParam<Case> {};

TEST_P(Catalogue, ReportsExactly) {
  const Case &section = GetParam();
  const Said said = compileCase(section);
  ASSERT_FALSE(said.ids.empty()) << "the case compiles without a message";
  EXPECT_EQ(said.ids.front(), section.file.stem().string())
      << "the section belongs in the file of its first id";
  if (std::getenv("UPDATE_ERRORS"))
    replaceExpected(section, said.text);
  else
    EXPECT_EQ(said.text, section.expected);
}

INSTANTIATE_TEST_SUITE_P(All, Catalogue, testing::ValuesIn(cases()),
                         [](const auto &info) {
                           std::string name = info.param.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// tests/errors/unreachable.txt: "Id: reason" a line.
std::map<std::string, std::string> unreachable() {
  std::map<std::string, std::string> result;
  std::istringstream lines(readFile((kFolder / "unreachable.txt").string()));
  for (std::string line; std::getline(lines, line);)
    if (const size_t colon = line.find(": ");
        !line.starts_with('#') && colon != std::string::npos)
      result[line.substr(0, colon)] = line.substr(colon + 2);
  return result;
}

// No message refers its reader elsewhere instead of giving an example, and none
// repeats a size in one sentence.
TEST(Errors, MessagesAreSelfContained) {
  static const std::regex elsewhere(R"(\bsee (the )?doc|docs/)");
  static const std::regex sizes(R"(\b\d+( ?x ?\d+)+)");
  int messages = 0;
  std::vector<Case> all = cases();
  for (Case &launch : readCases(kFolder / "launches.py"))
    all.push_back(std::move(launch));
  for (const Case &section : all) {
    std::istringstream in(section.expected);
    for (std::string line; std::getline(in, line); ++messages) {
      EXPECT_FALSE(std::regex_search(line, elsewhere))
          << section.name << ": " << line;
      std::set<std::string> seen;
      for (std::sregex_iterator at(line.begin(), line.end(), sizes), end;
           at != end; ++at)
        EXPECT_TRUE(seen.insert(at->str()).second)
            << section.name << ": " << line;
    }
  }
  EXPECT_GT(messages, 300);
}

TEST(Errors, EveryIdIsInTheCatalogue) {
  std::set<std::string> seen;
  for (const Case &section : cases())
    for (const std::string &id : compileCase(section).ids)
      seen.insert(id);
  const auto excused = unreachable();
  std::set<std::string> known;
  for (const char *id : {
#define DIAG(id, severity) #id,
#include "support/Diagnostics.def"
       }) {
    known.insert(id);
    EXPECT_NE(seen.count(id), excused.count(id))
        << id
        << (seen.count(id) ? " has a case and a reason to have none"
                           : " has neither a case nor a reason");
  }
  for (const auto &[id, reason] : excused)
    EXPECT_TRUE(known.count(id)) << id << " is not an id of Diagnostics.def";
}

} // namespace
} // namespace tessera::test
