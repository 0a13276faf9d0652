// tests/errors/ErrorsTest.cpp - the whole message of every case of the
// catalogue.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// cases/SLUG.py is a kernel file with one mistake, cases/SLUG.txt what the
// compiler says of it. The comments that open a case (title, Why, Fix) are for
// docs/language/errors.md and are cut off before compiling, so that the page
// and the message count the same lines. UPDATE_ERRORS=1 writes the
// .txt files anew: read them before committing.
#include "compiler/Compile.h"
#include "language/Decorators.h"
#include "language/Expand.h"
#include "language/Program.h"
#include "support/Error.h"
#include "support/File.h"

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

std::vector<std::string> slugs() {
  std::vector<std::string> result;
  for (const auto &entry : fs::directory_iterator(kFolder / "cases"))
    if (entry.path().extension() == ".py")
      result.push_back(entry.path().stem().string());
  std::sort(result.begin(), result.end());
  return result;
}

// The text after the opening comments and the empty line that ends them.
std::string kernelText(const std::string &slug) {
  std::string text = readFile((kFolder / "cases" / (slug + ".py")).string());
  const size_t end = text.find("\n\n");
  return end == std::string::npos ? "" : text.substr(end + 2);
}

// What a case gives: the text that a user reads, and the ids in it.
struct Said {
  std::string text;
  std::set<std::string> ids;

  void add(const std::vector<Diagnostic> &diagnostics) {
    text += renderDiagnostics(diagnostics);
    for (const Diagnostic &diagnostic : diagnostics)
      ids.insert(diagnosticName(diagnostic.id));
  }
};

// As `tessera compile` does: parse, describe, compile every instance.
Said compileCase(const std::string &slug) {
  Said said;
  try {
    auto program = language::Program::load(
        "kernel.py", kernelText(slug), [](const std::string &path) {
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
          said.ids.insert(record.id);
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

class Catalogue : public testing::TestWithParam<std::string> {};

TEST_P(Catalogue, SaysExactly) {
  const Said said = compileCase(GetParam());
  const fs::path path = kFolder / "cases" / (GetParam() + ".txt");
  if (std::getenv("UPDATE_ERRORS"))
    writeFile(path.string(), said.text);
  ASSERT_FALSE(said.text.empty()) << "the case compiles without a word";
  EXPECT_EQ(said.text, tryReadFile(path.string()).value_or("(no file)"));
}

INSTANTIATE_TEST_SUITE_P(All, Catalogue, testing::ValuesIn(slugs()),
                         [](const auto &info) {
                           std::string name = info.param;
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

// No message sends its reader elsewhere in place of an example, and none says a
// size twice in one sentence.
TEST(Errors, MessagesStandByThemselves) {
  static const std::regex elsewhere(R"(\bsee (the )?doc|docs/)");
  static const std::regex sizes(R"(\b\d+( ?x ?\d+)+)");
  int messages = 0;
  for (const auto &entry : fs::recursive_directory_iterator(kFolder)) {
    if (entry.path().extension() != ".txt")
      continue;
    std::istringstream in(readFile(entry.path().string()));
    for (std::string line; std::getline(in, line); ++messages) {
      EXPECT_FALSE(std::regex_search(line, elsewhere))
          << entry.path() << ": " << line;
      std::set<std::string> seen;
      for (std::sregex_iterator at(line.begin(), line.end(), sizes), end;
           at != end; ++at)
        EXPECT_TRUE(seen.insert(at->str()).second)
            << entry.path() << ": " << line;
    }
  }
  EXPECT_GT(messages, 300);
}

TEST(Errors, EveryIdIsInTheCatalogue) {
  std::set<std::string> seen;
  for (const std::string &slug : slugs())
    seen.merge(compileCase(slug).ids);
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
    EXPECT_TRUE(known.count(id)) << id << " is no id of Diagnostics.def";
}

} // namespace
} // namespace tessera::test
