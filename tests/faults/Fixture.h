// tests/faults/Fixture.h - a compile service on the fake worker, and counts of
// what became of every attack.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/compile/CompileService.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/Json.h"
#include "tests/unit/support/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace tessera::runtime {

// Attacks by outcome. What is counted goes into the XML of the test, and from
// there into docs/faults.md (tests/faults/table.py).
class Outcomes {
public:
  // "attempts", "right" (answers that are as they should be), "wrong" (answers
  // that are not), "loaded", "compiled", "memory" (not kept on disk),
  // "quarantined", "error" (a clear error with a hint).
  void count(const std::string &outcome, uint64_t times = 1) {
    counts[outcome] += times;
  }
  uint64_t operator[](const std::string &outcome) const {
    auto found = counts.find(outcome);
    return found == counts.end() ? 0 : found->second;
  }
  void add(const Json &other) {
    for (const auto &item : other.items())
      count(item.key(), item.value().get<uint64_t>());
  }
  Json json() const { return counts; }
  // The attack's name in the table.
  void report(const std::string &attack) const {
    testing::Test::RecordProperty("attack", attack);
    for (const auto &[outcome, times] : counts)
      testing::Test::RecordProperty("count_" + outcome, std::to_string(times));
    EXPECT_GT((*this)["attempts"], 0u);
    EXPECT_EQ((*this)["wrong"], 0u);
  }

private:
  std::map<std::string, uint64_t> counts;
};

// Runs `body` in a forked process; the function that is returned waits for it
// and gives what `body` returned, or "died: ..." when it did not get that far.
// Call it where no other thread runs: the child does not have them, but the
// locks that they held (those of the address sanitizer's allocator among them).
std::function<std::string()>
startChild(const std::function<std::string()> &body);
// Both at once.
std::string inChild(const std::function<std::string()> &body);

// In this (forked) process: a file system of its own at `folder`, of that many
// bytes, mounted with the flags of mount(2). Needs root or user namespaces;
// returns why not, or "".
std::string mountPrivate(const std::filesystem::path &folder, size_t bytes,
                         unsigned long flags = 0);

bool alive(pid_t pid);
// Polls for a few seconds.
bool eventually(const std::function<bool()> &condition);

class Faults : public testing::Test {
protected:
  Faults() {
    ::setenv("TESSERA_WORKER", TESSERA_FAKE_WORKER, 1);
    ::setenv("FAKE_WORKER_ARTIFACT", TESSERA_FIXTURE_KERNEL, 1);
    ::setenv("FAKE_WORKER_ID", "build", 1);
    ::setenv("FAKE_WORKER_LOG", (folder.path() / "log").c_str(), 1);
    for (const char *name : {"FAKE_WORKER_DIE", "FAKE_WORKER_GREETING",
                             "FAKE_WORKER_NAMED", "FAKE_WORKER_MUTE"})
      ::unsetenv(name);
  }

  CompileService::Settings settings() {
    CompileService::Settings result;
    result.cacheFolder = folder.path() / "cache";
    result.workers = 4;
    result.timeout = std::chrono::seconds(60);
    result.buildId = "build";
    return result;
  }

  static language::CompileRequest request(const std::string &kernel) {
    language::CompileRequest made;
    made.file = "k.py";
    made.kernel = kernel;
    made.text = "def " + kernel + "(x): pass\n";
    language::Argument x;
    x.name = "x";
    x.kind = language::ArgKind::Pointer;
    x.type = "*fp32:16";
    language::Argument block;
    block.name = "BM";
    block.value = language::Value(64);
    made.args = {x, block};
    made.target = "cpu:x86-64-v3:0000";
    return made;
  }

  // What the fake worker compiles that kernel to.
  static std::string expectedCode(const std::string &kernel) {
    const std::string code = readFile(std::getenv("FAKE_WORKER_ARTIFACT"));
    return std::getenv("FAKE_WORKER_NAMED") ? code + kernel : code;
  }

  // One request; its outcome is counted.
  static std::shared_ptr<const CompiledKernel>
  attempt(CompileService &service, const std::string &kernel,
          Outcomes &outcomes) {
    outcomes.count("attempts");
    try {
      auto got = service.get(request(kernel));
      outcomes.count(got && got->code == expectedCode(kernel) ? "right"
                                                              : "wrong");
      return got;
    } catch (const Error &error) {
      outcomes.count(error.hint.empty() ? "wrong" : "error");
    } catch (const std::exception &) {
      outcomes.count("wrong");
    }
    return nullptr;
  }
  // What the service did for all its requests.
  static void countWork(CompileService &service, Outcomes &outcomes) {
    outcomes.count("loaded", service.counters().loaded);
    outcomes.count("compiled", service.counters().compiled);
    outcomes.count("quarantined", service.cache().badEntries());
  }

  // Process and kernel of every request that reached a worker.
  std::vector<std::pair<int, std::string>> served() {
    std::vector<std::pair<int, std::string>> lines;
    std::istringstream text(
        tryReadFile(folder.path() / "log").value_or(std::string()));
    int pid;
    std::string kernel;
    while (text >> pid >> kernel)
      lines.emplace_back(pid, kernel);
    return lines;
  }

  // What get() throws, as text.
  static std::string failureOf(CompileService &service,
                               const language::CompileRequest &request) {
    try {
      service.get(request);
    } catch (const std::exception &error) {
      return error.what();
    }
    return "";
  }

  TemporaryFolder folder;
};

} // namespace tessera::runtime
