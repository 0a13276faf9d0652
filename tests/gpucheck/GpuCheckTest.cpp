// tests/gpucheck/GpuCheckTest.cpp - packed cases: the format, bad folders, no
// GPU, and one that is a fake. Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/author/Author.h"

#include "runtime/cases/Packed.h"
#include "support/Json.h"

using namespace tessera;
namespace fs = std::filesystem;

namespace {

class GpuCheck : public Author {
protected:
  CommandResult check(std::vector<std::string> arguments,
                      const std::string &driver = "/nonexistent/libcuda.so.1") {
    arguments.insert(arguments.begin(), TESSERA_GPU_CHECK);
    return runCommand(arguments, std::chrono::seconds(60),
                      {"TESSERA_CUDA_DRIVER=" + driver});
  }

  // A launch of the fake driver's kernel add, whose results were 17.5, or what
  // is given.
  fs::path makeCase(const std::string &name, float result = 17.5f) {
    const fs::path at = folder.path() / "packed" / name;
    fs::create_directories(at);
    writeFile(at / "kernel.py",
              "import triton\nimport triton.language as tl\n\n\n"
              "@triton.jit\ndef add(x, y, n, s, wide):\n"
              "    tl.store(y, tl.load(x))\n");
    const auto pointer = [](const char *argument) {
      return Json{{"name", argument}, {"kind", "pointer"}, {"dtype", "fp32"},
                  {"shape", {100}},   {"strides", {1}},    {"elements", 100}};
    };
    writeFile(at / "case.json", Json{{"name", name},
                                     {"kernel", "add"},
                                     {"kernel_file", "kernel.py"},
                                     {"grid", {2}},
                                     {"constexprs", Json::object()},
                                     {"args",
                                      {pointer("x"),
                                       pointer("y"),
                                       {{"name", "n"},
                                        {"kind", "int"},
                                        {"dtype", "i32"},
                                        {"value", 100}},
                                       {{"name", "s"},
                                        {"kind", "float"},
                                        {"dtype", "fp32"},
                                        {"value", 0.5}},
                                       {{"name", "wide"},
                                        {"kind", "int"},
                                        {"dtype", "i64"},
                                        {"value", 16}}}},
                                     {"written", {"y"}}}
                                    .dump());
    const auto tensor = [](float value) {
      const std::vector<float> values(100, value);
      return cases::StoredTensor{
          "F32", {100}, {reinterpret_cast<const char *>(values.data()), 400}};
    };
    writeFile(at / "before.safetensors",
              cases::writeSafetensors({{"x", tensor(1)}, {"y", tensor(0)}}));
    writeFile(at / "after.safetensors",
              cases::writeSafetensors({{"y", tensor(result)}}));
    cases::packCode(at, "sm_80", code());
    return at;
  }

  static runtime::CompiledKernel code() {
    runtime::CompiledKernel compiled;
    compiled.code = "GOOD";
    compiled.stages["ptx"] = "PTX";
    compiled.meta.symbol = "add";
    compiled.meta.threads = 64;
    compiled.meta.params = {{"x", "pointer", "*fp32:16"},
                            {"y", "pointer", "*fp32:16"},
                            {"n", "scalar", "i32"},
                            {"s", "scalar", "fp32"},
                            {"wide", "scalar", "i64:16"}};
    return compiled;
  }
};

TEST_F(GpuCheck, WithoutAGpuItSaysSoAndEndsWell) {
  makeCase("add");
  const CommandResult result = check({path("packed")});
  EXPECT_TRUE(result.status.ok()) << result.errors;
  expectHas(result.output, "there is no NVIDIA GPU");
  expectHas(result.output, "nothing was run");
  // Small enough to be carried to any machine.
  EXPECT_LT(fs::file_size(TESSERA_GPU_CHECK), 32u << 20);
}

TEST_F(GpuCheck, RunsComparesAndTimes) {
  makeCase("good");
  makeCase("wrong", 18);
  const CommandResult result =
      check({path("packed"), "--json", path("result.json"), "--repeat", "3"},
            TESSERA_FAKE_CUDA);
  EXPECT_EQ(result.status.code, 1) << result.errors;
  expectHas(result.output, "Fake GPU, compute capability 9.0");
  expectHas(result.output, "1 of 2 cases are ok");
  const Json json = parseJson(readFile(path("result.json")), "result");
  ASSERT_EQ(json["cases"].size(), 2u);
  EXPECT_EQ(json["cases"][0]["status"], "ok");
  EXPECT_EQ(json["cases"][0]["us"], 250.0);
  EXPECT_EQ(json["cases"][0]["target"], "sm_80"); // runs on the newer GPU
  EXPECT_EQ(json["cases"][1]["status"], "mismatch");
  EXPECT_FALSE(json["cases"][1].contains("us"));
  fs::remove_all(path("packed/wrong"));
  expectFine(check({path("packed")}, TESSERA_FAKE_CUDA));
}

TEST_F(GpuCheck, TheFormatReadsBack) {
  const fs::path at = makeCase("both");
  runtime::CompiledKernel other = code();
  other.code.clear(); // no ptxas
  other.meta.sharedBytes = 4096;
  cases::packCode(at, "sm_90", other);
  EXPECT_EQ(cases::packedTargets(at),
            (std::vector<std::string>{"sm_80", "sm_90"}));
  const runtime::CompiledKernel first = cases::readPacked(at, "sm_80"),
                                second = cases::readPacked(at, "sm_90");
  EXPECT_EQ(first.code, "GOOD");
  EXPECT_EQ(first.meta.symbol, "add");
  EXPECT_EQ(first.meta.threads, 64u);
  EXPECT_EQ(first.meta.params.size(), 5u);
  EXPECT_EQ(first.meta.params[4].type, "i64:16");
  EXPECT_EQ(second.code, "");
  EXPECT_EQ(second.stages.at("ptx"), "PTX");
  EXPECT_EQ(second.meta.sharedBytes, 4096u);
  EXPECT_THROW(cases::readPacked(at, "sm_86"), Error);
}

TEST_F(GpuCheck, BadFoldersAreRefused) {
  expectRefused(check({path("none")}), "no case in");
  const fs::path at = makeCase("bad");
  const std::string good = readFile(at / "gpu.json");
  const auto refused = [&](const std::string &text, const std::string &part) {
    writeFile(at / "gpu.json", text);
    expectRefused(check({path("packed")}), part);
  };
  refused("{", "gpu.json");
  refused(R"({"version": 2, "targets": {}})", "is of another version");
  refused(R"({"version": 1, "targets": []})", "is no object");
  refused(R"({"version": 1, "targets": {"../x": {}}})", "`../x`");
  refused(R"({"version": 1, "targets": {}})", "has no gpu.json, so no code");
  fs::remove(at / "gpu.json");
  expectRefused(check({path("packed")}), "make it with tessera pack");
  // What is wrong with one case is an error of that case.
  const auto failed = [&](const std::string &part) {
    const CommandResult result = check({path("packed")}, TESSERA_FAKE_CUDA);
    EXPECT_EQ(result.status.code, 1);
    expectHas(result.output, part);
    writeFile(at / "gpu.json", good);
  };
  writeFile(at / "gpu.json", R"({"version": 1, "targets": {"sm_80": {}}})");
  failed("error");
  fs::rename(at / "sm_80.ptx", at / "kept");
  failed("sm_80.ptx");
  fs::rename(at / "kept", at / "sm_80.ptx");
  writeFile(at / "sm_80.cubin", "BAD");
  writeFile(at / "sm_80.ptx", "BAD");
  failed("CUDA_ERROR_NO_BINARY_FOR_GPU");
}

TEST_F(GpuCheck, PackCompilesRecordedCases) {
  expectFine(run({"pack", TESSERA_SOURCE "/tests/cases/vector_add", "-o",
                  path("packed"), "--target", "sm_80"}));
  const fs::path at = path("packed/vector_add");
  EXPECT_EQ(cases::packedTargets(at), std::vector<std::string>{"sm_80"});
  const runtime::CompiledKernel packed = cases::readPacked(at, "sm_80");
  expectHas(packed.stages.at("ptx"), ".visible .entry " + packed.meta.symbol);
  EXPECT_GT(packed.meta.threads, 0u);
  expectRefused(run({"pack", path("packed"), "--target", "sm_8"}), "sm_8");
}

// The script on a machine without a GPU, and its bad options.
TEST_F(GpuCheck, Script) {
  makeCase("add");
  const std::string script = TESSERA_SOURCE "/scripts/gpu-check";
  const auto start = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), script);
    return runCommand(arguments, std::chrono::seconds(120),
                      {"BUILD=" TESSERA_BUILD,
                       "TESSERA_CUDA_DRIVER=/nonexistent/libcuda.so.1",
                       "TESSERA_CACHE_DIR=" + path("cache")});
  };
  for (const auto &arguments :
       {std::vector<std::string>{"--quick", path("packed")}, {"--quick"}}) {
    const CommandResult result = start(arguments);
    EXPECT_TRUE(result.status.ok()) << result.output << result.errors;
    expectHas(result.output, "there is no NVIDIA GPU");
    expectHas(result.output, "nothing was run");
  }
  const CommandResult wrong = start({"--quik"});
  EXPECT_EQ(wrong.status.code, 2);
  expectHas(wrong.errors, "no option --quik");
}

} // namespace
