// tools/inspect/Commit.cpp - reads a kernel file from a git commit.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/Commit.h"

#include "support/Error.h"
#include "support/Process.h"
#include "support/Text.h"

#include <filesystem>
#include <optional>
#include <vector>

namespace tessera::tools {

namespace fs = std::filesystem;

namespace {

// Returns the output of git in a folder, or nullopt if it failed.
std::optional<std::string> git(const fs::path &folder,
                               std::vector<std::string> words,
                               std::string *errors = nullptr) {
  words.insert(words.begin(), {"/usr/bin/env", "git", "-C", folder.string()});
  const CommandResult result = runCommand(words, std::chrono::seconds(60));
  if (errors)
    *errors = result.errors;
  return result.status.ok() ? std::optional(result.output) : std::nullopt;
}

} // namespace

std::shared_ptr<const language::Program>
programOfCommit(const std::string &file, const std::string &commit) {
  const fs::path folder = fs::path(file).parent_path();
  std::string errors;
  // Prevents git from reading a commit name that starts with a dash as an
  // option.
  const auto hash = git(folder,
                        {"rev-parse", "--verify", "--quiet", "--end-of-options",
                         commit + "^{commit}"},
                        &errors);
  if (!hash)
    throw Error("git knows no commit `" + commit + "` for " + file +
                    (errors.empty() ? "" : ": " + firstLine(errors)),
                "name one that `git log --oneline` lists, or HEAD~1; the file "
                "must lie in a work tree of git");
  const std::string top =
      firstLine(git(folder, {"rev-parse", "--show-toplevel"}).value_or(""));
  const auto read = [top, id = firstLine(*hash)](const std::string &path) {
    const fs::path inside = fs::path(path).lexically_relative(top);
    return inside.empty() || *inside.begin() == ".."
               ? std::nullopt
               : git(top, {"show", id + ":" + inside.generic_string()});
  };
  std::optional<std::string> text = read(file);
  if (!text)
    throw Error("commit " + commit + " has no " +
                    fs::path(file).lexically_relative(top).string(),
                "name a commit that has the file: git log --oneline -- " +
                    file);
  return language::Program::load(file, std::move(*text), read);
}

} // namespace tessera::tools
