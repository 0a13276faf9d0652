// tests/author/Author.h - runs `tessera` in a folder of its own.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/File.h"
#include "support/Process.h"
#include "tests/unit/support/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace tessera {

class Author : public testing::Test {
protected:
  CommandResult run(std::vector<std::string> arguments,
                    std::vector<std::string> environment = {}) {
    arguments.insert(arguments.begin(), TESSERA_PROGRAM);
    environment.push_back("TESSERA_CACHE_DIR=" + path("cache"));
    return runCommand(arguments, std::chrono::seconds(300), environment);
  }
  std::string path(const std::string &name) const {
    return (folder.path() / name).string();
  }
  std::string write(const std::string &name, const std::string &text) {
    writeFile(path(name), text);
    return path(name);
  }
  // Replaces the only occurrence of `from` in the file.
  void edit(const std::string &file, const std::string &from,
            const std::string &to) {
    std::string text = readFile(file);
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    ASSERT_EQ(text.find(from, at + 1), std::string::npos) << from;
    writeFile(file, text.replace(at, from.size(), to));
  }
  static void expectFine(const CommandResult &result) {
    EXPECT_TRUE(result.status.ok()) << result.status.text() << "\n"
                                    << result.output << result.errors;
  }
  static void expectHas(const std::string &text, const std::string &part) {
    EXPECT_NE(text.find(part), std::string::npos)
        << "missing: " << part << "\nin: " << text;
  }
  static void expectHasNot(const std::string &text, const std::string &part) {
    EXPECT_EQ(text.find(part), std::string::npos)
        << "unwanted: " << part << "\nin: " << text;
  }
  // Fails with a message that has the part, and with a hint.
  static void expectRefused(const CommandResult &result,
                            const std::string &part) {
    EXPECT_EQ(result.status.code, 1) << result.errors;
    expectHas(result.errors, part);
    expectHas(result.errors, "HINT");
  }

  TemporaryFolder folder;
};

} // namespace tessera
