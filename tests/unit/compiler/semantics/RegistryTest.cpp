// tests/unit/compiler/semantics/RegistryTest.cpp - names, signatures, their
// page.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Builtins.h"
#include "compiler/semantics/Prelude.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

namespace tessera::semantics {
namespace {

struct Example {
  std::string name, summary;
  size_t line = 0;
};

struct Family {
  std::string file, title, text;
  std::vector<Example> examples;
};

// A file of examples: its docstring is title, blank line, text; each kernel is
// called ex_NAME and describes NAME in one line.
Family readFamily(const std::string &stem) {
  Family family{stem + ".py", "", "", {}};
  std::ifstream file(std::string(EXAMPLES_FOLDER) + "/" + family.file);
  EXPECT_TRUE(file.is_open()) << family.file;
  std::string line;
  for (size_t number = 1; std::getline(file, line); ++number) {
    if (family.title.empty() && line.compare(0, 3, "\"\"\"") == 0) {
      family.title = line.substr(3);
      while (family.text.find("\"\"\"") == std::string::npos &&
             std::getline(file, line)) {
        ++number;
        family.text += line + "\n";
      }
      family.text.resize(family.text.find("\"\"\""));
    } else if (line.compare(0, 7, "def ex_") == 0) {
      family.examples.push_back(
          {line.substr(7, line.find('(') - 7), "", number});
    } else if (!family.examples.empty() &&
               family.examples.back().summary.empty() &&
               line.compare(0, 7, "    \"\"\"") == 0) {
      family.examples.back().summary = line.substr(7, line.rfind("\"\"\"") - 7);
    }
  }
  return family;
}

// "python_len" -> "python.len", "statement_if" -> "".
std::string registryName(const std::string &example) {
  for (std::string prefix : {"python", "triton", "method", "descriptor"})
    if (example.rfind(prefix + "_", 0) == 0)
      return prefix + "." + example.substr(prefix.size() + 1);
  return example.rfind("statement_", 0) == 0 ? "" : example;
}

std::string signatureOf(const std::string &name) {
  if (auto *builtin = Registry::get().find(name)) {
    std::string shown = name;
    for (const char *prefix : {"python.", "method."})
      if (name.rfind(prefix, 0) == 0)
        shown = name.substr(7);
    const bool dot = builtin->isMethod || name.rfind("method.", 0) == 0;
    return std::string("`") + (dot ? "." : "") + shown + "(" +
           builtin->signature + ")`";
  }
  auto *function = preludeFunction(name);
  if (!function)
    return "";
  std::string text = "`" + name + "(";
  for (size_t i = 0; i < function->parameters.size(); ++i) {
    auto &parameter = function->parameters[i];
    text += (i ? ", " : "") + parameter.name;
    if (parameter.defaultValue)
      text += "=" + dump(*parameter.defaultValue);
  }
  return text + ")`";
}

const char *const kFamilies[] = {
    "statements", "programs", "memory", "atomics", "math",  "shape",
    "reductions", "dot",      "casts",  "random",  "python"};

std::string makePage() {
  std::string page =
      "# The language: every name, where it works, an example\n\n"
      "Written from the registry and from the files of `docs/language/examples`"
      " by the test `Registry.ThePageIsFresh`;\n"
      "run it with TESSERA_UPDATE_DOCS=1 to write it again. Each example is a "
      "kernel that `tests/triton/language_test.py`\n"
      "runs on cpu, as PTX on the simulator, and under Triton's interpreter, "
      "and compares. A dot before a signature: also a method,\n"
      "`x.f(...)`. Names without a prefix are members of `triton.language`. "
      "`cuda` runs the PTX of `sim`; no GPU has been tried yet.\n"
      "Any other name is an error that says so.\n";
  for (const char *stem : kFamilies) {
    Family family = readFamily(stem);
    page += "\n## " + family.title + "\n" + family.text +
            "\n\n| what | meaning | cpu | sim | example |\n"
            "|---|---|---|---|---|\n";
    for (const Example &example : family.examples) {
      std::string shown = signatureOf(registryName(example.name));
      bool statement = shown.empty();
      page += "| " + (statement ? example.summary : shown) + " | " +
              (statement ? "" : example.summary) + " | yes | yes | [ex_" +
              example.name + "](examples/" + family.file + "#L" +
              std::to_string(example.line) + ") |\n";
    }
  }
  page += "\nOf a type: ";
  for (const auto &[name, builtin] : Registry::get().all())
    if (name.rfind("dtype.", 0) == 0)
      page += "`" + name.substr(6) + "()` ";
  page += "\n\n## Not supported yet\n\n"
          "`dot_scaled`, "
          "`inline_asm_elementwise` but of one instruction that has an "
          "operation\n(tanh, sin, cos, ex2, lg2, rcp, rsqrt, sqrt of "
          "float32), arithmetic of 8-bit floats (Triton "
          "compiles none either),\n"
          "pointers to pointers, `break` and `continue` (Triton has neither). "
          "[names](names.md) says of every name of Triton whether\n"
          "it is there, and what to write where it is not.\n";
  return page;
}

TEST(Registry, ThePageIsFresh) {
  std::string fresh = makePage();
  if (std::getenv("TESSERA_UPDATE_DOCS"))
    std::ofstream(BUILTINS_PAGE) << fresh;
  std::ifstream file(BUILTINS_PAGE);
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_EQ(page.str(), fresh)
      << "run this test with TESSERA_UPDATE_DOCS=1 and commit the page";
}

const std::set<std::string> kOfTriton39 = {"squeeze",     "unsqueeze",
                                           "atomic_load", "atomic_store",
                                           "atomic_poll", "expect_zero"};

TEST(Registry, EveryNameHasAnExample) {
  std::set<std::string> shown;
  for (const char *stem : kFamilies)
    for (const Example &example : readFamily(stem).examples) {
      EXPECT_FALSE(example.summary.empty()) << example.name;
      shown.insert(registryName(example.name));
    }
  for (const auto &[name, builtin] : Registry::get().all()) {
    if (name.rfind("math.", 0) == 0 || name.rfind("dtype.", 0) == 0)
      continue; // the same functions as tl.*, or libdevice's, which the
                // interpreter lacks; questions to types
    if (name == "to_tensor" || name == "get_int_dtype" ||
        name == "aggregate_replace")
      continue; // members of tl.core, which Triton 3.6 does not export
    if (name.rfind("descriptor.atomic_", 0) == 0 ||
        name.rfind("target_info.", 0) == 0 || name == "map_elementwise" ||
        name == "condition" || name == "inline_asm_elementwise")
      continue; // the interpreter lacks them: tests/triton/beyond
    EXPECT_TRUE(shown.count(name)) << name;
  }
  for (const auto &stmt : prelude().main().body)
    if (auto *function = stmt->as<language::FunctionDef>();
        function && function->name[0] != '_') {
      if (kOfTriton39.count(function->name))
        continue; // tests/triton/beyond
      EXPECT_TRUE(shown.count(function->name)) << function->name;
    }
}

TEST(Registry, DefaultsAndNearestNames) {
  const Builtin *load = Registry::get().find("load");
  ASSERT_TRUE(load);
  EXPECT_TRUE(load->parameters[0].required);
  EXPECT_TRUE(load->parameters[1].byDefault.isNone());
  EXPECT_TRUE(load->parameters[3].byDefault.tupleValues());
  EXPECT_EQ(load->parameters[4].byDefault.constant()->str(), "");
  EXPECT_EQ(Registry::get().nearest("programid"), "program_id");
  EXPECT_EQ(Registry::get().nearest("math.exq"), "exp");
  EXPECT_EQ(Registry::get().find("no_such"), nullptr);
}

} // namespace
} // namespace tessera::semantics
