// tools/commands/New.cpp - tessera new kernel NAME: writes the files of a new
// kernel or pattern.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/Command.h"

#include "support/Error.h"
#include "support/File.h"
#include "tools/commands/KernelTemplate.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <vector>

namespace tessera::tools {
namespace {

namespace fs = std::filesystem;

struct NewOptions {
  std::string name, folder = ".";
};

// Checks a name that becomes a module, a function and part of other names.
void validateName(const std::string &name) {
  static const std::vector<std::string> taken = {
      "False",     "None",      "True",    "and",        "as",
      "assert",    "async",     "await",   "break",      "class",
      "continue",  "def",       "del",     "elif",       "else",
      "except",    "finally",   "for",     "from",       "global",
      "if",        "import",    "in",      "is",         "lambda",
      "nonlocal",  "not",       "or",      "pass",       "raise",
      "return",    "try",       "while",   "with",       "yield",
      "triton",    "torch",     "tl",      "kernel",     "kernels",
      "sees",      "first_key", "forward", "backward_q", "backward_kv",
      "modify",    "math",      "os",      "sys",        "past_query",
      "load_rows", "needed"};
  const bool letters =
      !name.empty() && name.size() <= 48 &&
      std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
      });
  if (!letters || !(name[0] >= 'a' && name[0] <= 'z'))
    throw Error("`" + name + "` cannot name a kernel",
                "use lower-case letters, digits and _, a letter first, at most "
                "48 of them: dilated_window");
  if (std::find(taken.begin(), taken.end(), name) != taken.end())
    throw Error("the name `" + name + "` is taken by Python or by the template",
                "add a word to it: my_" + name);
  for (const char *ending : {"_ref", "_bwd", "_test"})
    if (name.ends_with(ending))
      throw Error("`" + name + "` ends with " + ending +
                      ", which says what a kernel is to another one",
                  "leave " + std::string(ending) + " away");
}

std::string filled(std::string text, const std::string &name) {
  static const std::string place = "NAME";
  for (size_t at = text.find(place); at != std::string::npos;
       at = text.find(place, at + name.size()))
    text.replace(at, place.size(), name);
  return text;
}

// Creates the folder. Throws Error if one of the files exists.
void prepare(const fs::path &folder, const std::vector<fs::path> &files) {
  for (const fs::path &path : files) {
    std::error_code ignored;
    if (fs::symlink_status(path, ignored).type() != fs::file_type::not_found)
      throw Error(path.string() + " exists",
                  "choose another name or folder; nothing was written");
  }
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed)
    throw Error("cannot create " + folder.string() + ": " + failed.message(),
                "choose another folder with --dir");
}

int writePattern(const NewOptions &options) {
  validateName(options.name);
  const fs::path file = fs::path(options.folder) / (options.name + ".py");
  prepare(options.folder, {file});
  writeFile(file, filled(patternTemplate(), options.name));
  std::printf("wrote %s, a sliding window. Next:\n"
              "  edit sees(), which tells the keys that a query attends to\n"
              "  tessera check %s\n"
              "  tessera train attention=%s\n"
              "docs/patterns.md explains what a pattern may contain.\n",
              file.c_str(), file.c_str(), file.c_str());
  return 0;
}

int writeKernel(const NewOptions &options) {
  validateName(options.name);
  const fs::path kernel = fs::path(options.folder) / (options.name + ".py");
  const fs::path test = fs::path(options.folder) / (options.name + "_test.py");
  prepare(options.folder, {kernel, test});
  writeFile(kernel, filled(kernelTemplate(), options.name));
  writeFile(test, filled(kernelTestTemplate(), options.name));
  std::printf("wrote %s and %s\n"
              "It attends a causal window, as a pattern of ten lines does "
              "(tessera new pattern). Next:\n"
              "  tessera check %s\n"
              "  edit what a pattern cannot express\n"
              "docs/authoring.md explains the arguments and hints, and a gate "
              "of each token.\n",
              kernel.c_str(), test.c_str(), kernel.c_str());
  return 0;
}

} // namespace

Command addNew(CLI::App &app) {
  auto options = std::make_shared<NewOptions>();
  CLI::App *verb =
      app.add_subcommand("new", "Start a pattern or a kernel of your own");
  verb->require_subcommand(1);
  CLI::App *pattern = verb->add_subcommand(
      "pattern",
      "Write NAME.py, an attention pattern of a dozen lines to edit");
  CLI::App *kernel = verb->add_subcommand(
      "kernel", "Write NAME.py, an attention kernel to edit, and its test");
  for (CLI::App *each : {pattern, kernel}) {
    each->add_option("name", options->name, "such as dilated_window")
        ->required();
    each->add_option("--dir", options->folder, "folder to write to")
        ->capture_default_str();
  }
  for (CLI::App *each : {verb, pattern, kernel})
    each->footer("Examples:\n"
                 "  tessera new pattern dilated_window\n"
                 "  tessera new kernel dilated_window --dir kernels/mine\n\n"
                 "A pattern is a function that tells which keys a query "
                 "attends to; tessera derives the kernels.\n"
                 "A kernel file holds a forward kernel, a plain reference, "
                 "both backward kernels, instances and\nconfigurations. "
                 "Nothing is overwritten.");
  return {verb, [options, pattern] {
            return pattern->parsed() ? writePattern(*options)
                                     : writeKernel(*options);
          }};
}

} // namespace tessera::tools
