// tests/faults/Fixture.h - a compile service on the fake worker.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/compile/CompileService.h"
#include "support/File.h"
#include "tests/unit/support/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace tessera::runtime {

class Faults : public testing::Test {
protected:
  Faults() {
    ::setenv("TESSERA_WORKER", TESSERA_FAKE_WORKER, 1);
    ::setenv("FAKE_WORKER_ARTIFACT", TESSERA_FIXTURE_KERNEL, 1);
    ::setenv("FAKE_WORKER_ID", "build", 1);
    ::setenv("FAKE_WORKER_LOG", (folder.path() / "log").c_str(), 1);
  }

  CompileService::Settings settings() {
    CompileService::Settings result;
    result.cacheFolder = folder.path() / "cache";
    result.workers = 4;
    result.timeout = std::chrono::seconds(60);
    result.buildId = "build";
    return result;
  }

  static syntax::CompileRequest request(const std::string &kernel) {
    syntax::CompileRequest made;
    made.file = "k.py";
    made.kernel = kernel;
    made.text = "def " + kernel + "(x): pass\n";
    syntax::Argument x;
    x.name = "x";
    x.kind = syntax::ArgKind::Pointer;
    x.type = "*fp32:16";
    syntax::Argument block;
    block.name = "BM";
    block.value = syntax::Value(64);
    made.args = {x, block};
    made.target = "cpu:x86-64-v3:0000";
    return made;
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
                               const syntax::CompileRequest &request) {
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
