// tests/gpucheck/ReplayTest.cpp - tessera replay --device cuda on a driver
// whose GPU is the simulator.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/author/Author.h"

#include "replay/Case.h"
#include "support/Json.h"

#include <map>

using namespace tessera;
namespace fs = std::filesystem;

namespace {

class ReplayOnCuda : public Author {
protected:
  // A launch of one program that stores 0 to 7.
  void makeCase(const std::string &name, const std::string &body,
                const Json &grid = {1}) {
    const fs::path at = folder.path() / "cases" / name;
    fs::create_directories(at);
    writeFile(at / "kernel.py",
              "import triton\nimport triton.language as tl\n\n\n"
              "@triton.jit\ndef f(OUT, FAR):\n    i = tl.arange(0, 8)\n" +
                  body);
    writeFile(at / "case.json", Json{{"name", name},
                                     {"kernel", "f"},
                                     {"kernel_file", "kernel.py"},
                                     {"grid", grid},
                                     {"constexprs", Json::object()},
                                     {"args",
                                      {{{"name", "OUT"},
                                        {"kind", "pointer"},
                                        {"dtype", "i32"},
                                        {"shape", {8}},
                                        {"strides", {1}},
                                        {"elements", 8}},
                                       {{"name", "FAR"},
                                        {"kind", "int"},
                                        {"dtype", "i64"},
                                        {"value", 1ll << 44}}}},
                                     {"written", {"OUT"}}}
                                    .dump());
    std::vector<int> numbers(8);
    const auto write = [&](const char *file) {
      const std::string bytes(reinterpret_cast<const char *>(numbers.data()),
                              32);
      writeFile(at / file,
                cases::writeSafetensors({{"OUT", {"I32", {8}, bytes}}}));
    };
    write("before.safetensors");
    for (int i = 0; i < 8; ++i)
      numbers[size_t(i)] = i;
    write("after.safetensors");
  }

  // The reports by name.
  std::map<std::string, Json>
  replay(std::vector<std::string> more = {},
         std::vector<std::string> environment = {}) {
    more.insert(more.begin(), {"replay", path("cases"), "--device", "cuda",
                               "--json", path("report.json")});
    environment.push_back("TESSERA_CUDA_DRIVER=" TESSERA_SIM_CUDA);
    const CommandResult done = run(more, environment);
    EXPECT_EQ(done.status.signal, 0) << done.errors;
    std::map<std::string, Json> reports;
    const std::string text = tryReadFile(path("report.json")).value_or("[]");
    for (const Json &report : parseJson(text, "report"))
      reports[report["name"]] = report;
    return reports;
  }

  static void expectError(const Json &report, const std::string &part) {
    EXPECT_EQ(report["status"], "error") << report;
    expectHas(report["message"].get<std::string>(), part);
  }
};

constexpr const char *good = "    tl.store(OUT + i, i)\n";

// Code of many programs along x differs: the endless launch has 2^45.
TEST_F(ReplayOnCuda, AHangAndAFaultEndTheirCasesOnly) {
  makeCase("a", good);
  makeCase("b", good, {1 << 30, 1 << 15});
  makeCase("c", good);
  makeCase("d", "    tl.store(OUT + FAR + i, i)\n");
  makeCase("e", good);
  auto reports = replay({"--timeout", "5"});
  for (const char *name : {"a", "c", "e"})
    EXPECT_EQ(reports[name]["status"], "ok") << reports[name];
  expectError(reports["b"], "no end after 5 s");
  expectError(reports["d"], "CUDA_ERROR_ILLEGAL_ADDRESS");
}

TEST_F(ReplayOnCuda, OneProcessRunsCasesUntilItCrashes) {
  for (const char *name : {"a", "b", "c", "d"})
    makeCase(name, good);
  // The second launch of each process ends it.
  auto reports = replay({}, {"SIM_CUDA=crash"});
  for (const char *name : {"a", "c"})
    EXPECT_EQ(reports[name]["status"], "ok") << reports[name];
  for (const char *name : {"b", "d"})
    expectError(reports[name], "the launch ended with signal 6");
}

TEST_F(ReplayOnCuda, ComparesResultsAndTheMemoryAround) {
  makeCase("good", good);
  makeCase("wrong", "    tl.store(OUT + i, i + (i == 3))\n");
  makeCase("beyond",
           "    tl.store(OUT + i, i)\n    tl.store(OUT + 8 + i, i)\n");
  auto reports = replay({"--out", path("out")});
  EXPECT_EQ(reports["good"]["status"], "ok") << reports["good"];
  EXPECT_EQ(reports["good"]["device"], "cuda");
  EXPECT_EQ(reports["wrong"]["status"], "mismatch");
  expectHas(reports["wrong"]["message"], "first at [3]: 4 instead of 3");
  EXPECT_EQ(reports["beyond"]["status"], "mismatch");
  expectHas(reports["beyond"]["message"], "`OUT`: wrote");
  EXPECT_TRUE(fs::exists(path("out/good.safetensors")));
}

TEST_F(ReplayOnCuda, ReportsWhatDoesNotCompileInOrder) {
  makeCase("a", "    tl.store(OUT + i, j)\n");
  makeCase("b", good);
  makeCase("c", "    tl.store(OUT + i, j)\n");
  replay();
  const Json all = parseJson(readFile(path("report.json")), "report");
  ASSERT_EQ(all.size(), 3u);
  const char *const statuses[] = {"error", "ok", "error"};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(all[i]["name"], std::string(1, char('a' + i)));
    EXPECT_EQ(all[i]["status"], statuses[i]) << all[i];
  }
}

TEST_F(ReplayOnCuda, WithoutAGpuCasesAreUnsupported) {
  makeCase("a", good);
  for (const char *mode : {"none", "broken"}) {
    auto reports = replay({}, {"SIM_CUDA=" + std::string(mode)});
    EXPECT_EQ(reports["a"]["status"], "unsupported") << reports["a"];
    expectHas(reports["a"]["message"], "use --device sim:sm_80 or cpu");
  }
  expectRefused(run({"replay", path("cases"), "--device", "cuda:1"}),
                "no device `cuda:1` for cases");
}

} // namespace
