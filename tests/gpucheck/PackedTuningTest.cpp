// tests/gpucheck/PackedTuningTest.cpp - the file of a case's configurations.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/gpucheck/Fixture.h"

#include "replay/packed/PackedTuning.h"

using namespace tessera;

namespace {

class PackedTuning : public GpuCheck {
protected:
  static runtime::CompiledKernel
  codeOf(const fs::path &at, const cases::PackedCandidate &candidate) {
    return cases::readCode(at, candidate.code, "a candidate");
  }
  static cases::PackedTuning tuning(const fs::path &at, bool withPtx) {
    cases::PackedTuning made;
    made.key = {"kernels/own/add.py:add",
                std::string(32, 'b'),
                {"fp32", "none"},
                {{"ACT", std::string("relu")},
                 {"BIAS", nullptr},
                 {"EPS", 1e-5},
                 {"FLAG", true},
                 {"N", int64_t(1)},
                 {"TYPE", DType::BF16}},
                4096};
    made.tokens = 3000;
    const Json code = cases::packCode(at, compiled(), withPtx);
    made.candidates = {
        {{{{"BM", int64_t(64)}}, 8, std::nullopt}, {7, 2, 3}, code},
        {{{{"BM", int64_t(32)}}, std::nullopt, 4}, {14, 2, 3}, code}};
    made.leftOut = {{{{{"BM", int64_t(1)}}, {}, {}}, "too small"}};
    return made;
  }
};

TEST_F(PackedTuning, ReadsBackAsWritten) {
  const fs::path at = makeCase("one");
  EXPECT_FALSE(cases::readTuning(at, "sm_90"));
  const cases::PackedTuning made = tuning(at, false);
  cases::packTuning(at, "sm_90", made);
  cases::packTuning(at, "sm_80", tuning(at, true));
  EXPECT_EQ(cases::tuningTargets(at),
            (std::vector<std::string>{"sm_80", "sm_90"}));
  const auto read = cases::readTuning(at, "sm_90");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->key, made.key);
  EXPECT_EQ(read->tokens, 3000);
  ASSERT_EQ(read->candidates.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(read->candidates[i].use, made.candidates[i].use);
    EXPECT_EQ(read->candidates[i].grid, made.candidates[i].grid);
    const runtime::CompiledKernel code = codeOf(at, read->candidates[i]);
    EXPECT_EQ(code.meta.symbol, "add");
    EXPECT_EQ(code.meta.params.size(), 3u);
  }
  EXPECT_EQ(read->leftOut, made.leftOut);
  // Equal code is there once; PTX only where it is asked for or all there is.
  const runtime::CompiledKernel code = codeOf(at, read->candidates[1]);
  EXPECT_EQ(code.code, compiled().code);
  EXPECT_EQ(code.stages.at("ptx"), "");
  EXPECT_EQ(codeOf(at, cases::readTuning(at, "sm_80")->candidates[0])
                .stages.at("ptx"),
            ptx());
  runtime::CompiledKernel bare = compiled();
  bare.code.clear();
  EXPECT_EQ(cases::readCode(at, cases::packCode(at, bare, false), "bare")
                .stages.at("ptx"),
            ptx());
}

TEST_F(PackedTuning, DamageIsRefused) {
  const fs::path at = makeCase("one");
  cases::packTuning(at, "sm_90", tuning(at, true));
  const std::string good = readFile(at / "tuning.json");
  const auto refusal = [&](const std::string &from, const std::string &to) {
    std::string text = good;
    const size_t place = text.find(from);
    EXPECT_NE(place, std::string::npos) << from;
    writeFile(at / "tuning.json", text.replace(place, from.size(), to));
    try {
      const auto read = cases::readTuning(at, "sm_90");
      codeOf(at, read->candidates[0]);
      return std::string("read");
    } catch (const Error &error) {
      return std::string(error.what());
    }
  };
  expectHas(refusal("\"version\":1", "\"version\":2"), "of another version");
  expectHas(refusal("{", "["), "tuning.json");
  expectHas(refusal("\"sm_90\"", "\"../x\""), "../x");
  expectHas(refusal("\"grid\":[7,2,3]", "\"grid\":[7,2]"), "`grid`");
  expectHas(refusal("\"cubin\":\"", "\"cubin\":\"../../"),
            "is not a hexadecimal number");
  expectHas(
      refusal("\"TYPE\":{\"dtype\":\"bf16\"}", "\"TYPE\":{\"dtype\":\"b\"}"),
      "malformed value");
  expectHas(refusal("\"use\":{", "\"use\":{\"no\":1,"), "`no`");
  expectHas(refusal("\"cubin\":", "\"meta2\":"), "`meta2`");
  writeFile(at / "tuning.json", good);
  Json bare = cases::readTuning(at, "sm_90")->candidates[0].code;
  bare.erase("cubin");
  bare.erase("ptx");
  EXPECT_THROW(cases::readCode(at, bare, "a candidate"), Error);
  std::string without = good;
  without.replace(without.find("\"candidates\":["), 14,
                  "\"candidates\":[],\"x\":[");
  writeFile(at / "tuning.json", without);
  EXPECT_THROW(cases::readTuning(at, "sm_90"), Error);
}

} // namespace
