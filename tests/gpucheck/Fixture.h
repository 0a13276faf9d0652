// tests/gpucheck/Fixture.h - packed cases of a small kernel, run through a
// driver whose GPU is the simulator.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/author/Author.h"

#include "replay/packed/Packed.h"
#include "replay/packed/PackedTensors.h"
#include "support/Json.h"

namespace tessera {

namespace fs = std::filesystem;

class GpuCheck : public Author {
protected:
  CommandResult check(std::vector<std::string> arguments,
                      std::vector<std::string> environment = {},
                      const std::string &driver = TESSERA_SIM_CUDA,
                      const std::string &where = "packed") {
    arguments.insert(arguments.begin(), {TESSERA_GPU_CHECK, path(where)});
    environment.push_back("TESSERA_CUDA_DRIVER=" + driver);
    return runCommand(arguments, std::chrono::seconds(300), environment);
  }

  // The rows of a run, by case.
  std::map<std::string, Json>
  rowsOf(const std::string &part, std::vector<std::string> arguments = {},
         std::vector<std::string> environment = {}) {
    arguments.insert(arguments.end(), {"--json", path("result.json")});
    const CommandResult result = check(std::move(arguments), environment);
    expectHas(result.output, part);
    std::map<std::string, Json> rows;
    const auto text = tryReadFile(path("result.json"));
    EXPECT_TRUE(text) << result.output << result.errors;
    const Json json = parseJson(text.value_or("{\"cases\": []}"), "result");
    for (const Json &row : json["cases"])
      rows[row["case"]] = row;
    return rows;
  }

  static void expectFailed(const Json &row, const std::string &status,
                           const std::string &part) {
    ASSERT_TRUE(row.is_object());
    EXPECT_EQ(row["status"], status) << row.dump();
    expectHas(row["message"].get<std::string>(), part);
    EXPECT_FALSE(row.contains("us"));
  }

  // y[i] = x[i] + 16.5 for i < n, and what `first` does before.
  static std::string ptx(const std::string &first = "") {
    return ".version 8.0\n.target sm_80\n.address_size 64\n"
           ".visible .entry add(.param .u64 x, .param .u64 y, .param .u32 n)\n"
           ".reqntid 64\n{\n"
           ".reg .pred %p<2>;\n.reg .b32 %r<5>;\n.reg .f32 %f<3>;\n"
           ".reg .b64 %d<6>;\n"
           "ld.param.u64 %d1, [x];\nld.param.u64 %d2, [y];\n"
           "ld.param.u32 %r1, [n];\nmov.u32 %r2, %ctaid.x;\n"
           "mov.u32 %r3, %tid.x;\nmad.lo.s32 %r4, %r2, 64, %r3;\n" +
           first +
           "setp.ge.s32 %p1, %r4, %r1;\n@%p1 bra DONE;\n"
           "mul.wide.s32 %d3, %r4, 4;\nadd.s64 %d4, %d1, %d3;\n"
           "ld.global.f32 %f1, [%d4];\nadd.f32 %f2, %f1, 0f41840000;\n"
           "add.s64 %d5, %d2, %d3;\nst.global.f32 [%d5], %f2;\n"
           "DONE:\nret;\n}\n";
  }

  static Json pointer(const char *argument) {
    return {{"name", argument}, {"kind", "pointer"}, {"dtype", "fp32"},
            {"shape", {100}},   {"strides", {1}},    {"elements", 100}};
  }
  static cases::StoredTensor tensor(float value) {
    const std::vector<float> values(100, value);
    return {"F32", {100}, {reinterpret_cast<const char *>(values.data()), 400}};
  }

  // A packed launch of add() whose recorded results were 17.5, or what is
  // given.
  fs::path makeCase(const std::string &name, const std::string &code = ptx(),
                    float result = 17.5f, int n = 100) {
    const fs::path at = folder.path() / "packed" / name;
    fs::create_directories(at);
    writeFile(at / "kernel.py", "# not looked at\n");
    writeFile(at / "case.json",
              Json{{"name", name},
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
                      {"value", n}}}},
                   {"written", {"y"}},
                   {"work", {{"bytes", 800}, {"dot_flop", {{"fp16", 4e6}}}}}}
                  .dump());
    cases::LoadedCase loaded = cases::loadCaseText(at);
    loaded.before = {{"x", tensor(1)}, {"y", tensor(0)}};
    loaded.after = {{"y", tensor(result)}};
    cases::packTensors(loaded, at);
    cases::packTarget(at, "sm_80", compiled(code));
    return at;
  }

  static runtime::CompiledKernel compiled(const std::string &code = ptx()) {
    runtime::CompiledKernel compiled;
    compiled.code = "\x7f"
                    "ELF, for no GPU that there is";
    compiled.stages["ptx"] = code;
    compiled.meta.symbol = "add";
    compiled.meta.threads = 64;
    compiled.meta.params = {{"x", "pointer", "*fp32:16"},
                            {"y", "pointer", "*fp32:16"},
                            {"n", "scalar", "i32"}};
    return compiled;
  }

  // Another compiler's code, which takes two null pointers at the end.
  static void addPeer(const fs::path &at, const std::string &first = "") {
    std::string code = ptx(first);
    code.replace(code.find(".param .u32 n)"), 14,
                 ".param .u32 n, .param .u64 a, .param .u64 b)");
    Json json = parseJson(readFile(at / "gpu.json"), "gpu.json");
    Json peer = cases::packCode(at, compiled(code), true);
    peer.update({{"appended", 2}, {"compiler", "Other 1.0"}});
    json["targets"]["sm_80"]["peer"] = peer;
    writeFile(at / "gpu.json", json.dump());
  }
};

} // namespace tessera
