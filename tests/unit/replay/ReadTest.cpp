// tests/unit/replay/ReadTest.cpp - case.json and safetensors, good and damaged.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "replay/Buffer.h"
#include "replay/Case.h"
#include "replay/Record.h"
#include "replay/Safetensors.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/Json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace tessera;
using namespace tessera::cases;

namespace {

const char *const good = R"({
  "name": "n", "kernel": "f", "kernel_file": "kernel.py", "grid": [2, 3],
  "constexprs": {"B": 64, "F": 0.5, "T": "bf16", "N": null, "Y": true, "I": -Infinity,
                 "S": {"tuple": [4, 8]}},
  "args": [
    {"name": "X", "kind": "pointer", "dtype": "fp32", "shape": [4, 2], "strides": [2, 1], "elements": 8},
    {"name": "I", "kind": "pointer", "dtype": "i32", "shape": [4], "strides": [1], "elements": 4},
    {"name": "n", "kind": "int", "dtype": "i64", "value": 6364136223846793005},
    {"name": "s", "kind": "float", "dtype": "fp32", "value": NaN},
    {"name": "b", "kind": "int", "dtype": "i1", "value": true}],
  "written": ["I"], "num_warps": 4, "num_stages": null,
  "compare": {"I": {"mode": "ties", "scores": "X"}}, "checks": [], "triton": "3.6",
  "source": {"file": "kernels/f.py", "given": {"B": 64}, "sequence": 512,
             "threads": 3}
})";

std::string failure(const std::string &text) {
  try {
    readCase(text, "case.json");
  } catch (const Error &error) {
    EXPECT_FALSE(error.hint.empty()) << error.message;
    EXPECT_NE(error.message.find("case.json"), std::string::npos);
    return error.what();
  }
  return "";
}

std::string replaced(std::string text, const std::string &from,
                     const std::string &to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string withPrefix(const std::string &header, const std::string &data) {
  std::string result;
  for (size_t i = 0; i < 8; ++i)
    result += char(header.size() >> (8 * i) & 0xff);
  return result + header + data;
}

} // namespace

TEST(Case, ReadsAndWrites) {
  const Case recorded = readCase(good, "case.json");
  EXPECT_EQ(recorded.kernel, "f");
  EXPECT_EQ(recorded.grid, (Grid{2, 3, 1}));
  EXPECT_EQ(recorded.constexprs.at("B"), ConstexprValue(int64_t(64)));
  EXPECT_EQ(recorded.constexprs.at("T"), ConstexprValue(std::string("bf16")));
  EXPECT_EQ(recorded.constexprs.at("I"), ConstexprValue(-HUGE_VAL));
  EXPECT_EQ(recorded.constexprs.at("S"),
            ConstexprValue(EncodedConstexpr{R"({"tuple":[4,8]})"}));
  EXPECT_EQ(recorded.numWarps, 4);
  EXPECT_FALSE(recorded.numStages);
  EXPECT_EQ(std::get<int64_t>(*recorded.find("n")->value), 6364136223846793005);
  EXPECT_TRUE(std::isnan(std::get<double>(*recorded.find("s")->value)));
  EXPECT_TRUE(std::get<bool>(*recorded.find("b")->value));
  EXPECT_EQ(recorded.modeOf(*recorded.find("X")).kind, CompareMode::Kind::Rms);
  EXPECT_EQ(recorded.modeOf(*recorded.find("I")).kind, CompareMode::Kind::Ties);
  ASSERT_TRUE(recorded.source);
  EXPECT_EQ(recorded.source->file, "kernels/f.py");
  EXPECT_EQ(recorded.source->given, (Constexprs{{"B", int64_t(64)}}));
  EXPECT_EQ(recorded.source->sequence, 512);
  EXPECT_EQ(recorded.source->threads, 3);
  const std::string finite =
      replaced(replaced(good, "NaN", "0.25"), "-Infinity", "1e300");
  const std::string text = writeCase(readCase(finite, "case.json"));
  EXPECT_EQ(writeCase(readCase(text, "case.json")), text);
  EXPECT_EQ(readCase(text, "case.json").source->sequence, 512);
  EXPECT_EQ(readCase(text, "case.json").source->threads, 3);
  EXPECT_EQ(readCase(text, "case.json").constexprs.at("S"),
            recorded.constexprs.at("S"));
  EXPECT_NE(text.find("6364136223846793005"), std::string::npos);
  EXPECT_NE(text.find("kernels/f.py"), std::string::npos);
  EXPECT_THROW(writeCase(recorded), Error); // NaN has no JSON
}

TEST(Case, MistakesNameTheNearest) {
  const struct {
    const char *from, *to, *part;
  } mistakes[] = {
      {"\"kernel\": \"f\"", "\"kernle\": \"f\"", "did you mean `kernel`?"},
      {"\"compare\"", "\"compair\"", "did you mean `compare`?"},
      {"\"pointer\"", "\"ponter\"", "did you mean `pointer`?"},
      {"\"i32\"", "\"i23\"", "did you mean `i32`?"},
      {"[\"I\"]", "[\"J\"]", "names `J`"},
      {"[\"I\"]", "[\"n\"]", "is not a pointer"},
      {"[\"I\"]", "\"I\"", "is not a list"},
      {"[\"I\"]", "[3]", "holds 3"},
      {"\"ties\"", "\"tise\"", "did you mean `ties`?"},
      {"\"scores\": \"X\"", "\"scores\": \"Z\"", "names `Z`"},
      {", \"scores\": \"X\"", "", "need the scores"},
      {"[2, 3]", "[]", "0 numbers"},
      {"[2, 3]", "[1, 1, 1, 1]", "4 numbers"},
      {"[2, 3]", "[-1]", "the grid has -1"},
      {"[2, 3]", "[4294967296]", "the grid has 4294967296"},
      {"[2, 3]", "[1.5]", "not a whole number"},
      {"\"grid\": [2, 3],", "", "`grid` is missing"},
      {"\"B\": 64", "\"B\": [64]", "a constexpr is"},
      {"[4, 2]", "[4, -2]", "the shape has -2"},
      {"[4, 2]", "[4]", "1 sizes and 2 strides"},
      {"[4, 2]", "[1099511627776, 1099511627776]", "larger than any memory"},
      {"[2, 1]", "[9223372036854775807, 1]", "larger than any memory"},
      {"\"shape\": [4],", "", "no `shape`"},
      {"\"value\": true", "\"value\": \"x\"", "not a whole number"},
      {", \"value\": NaN", "", "no `value`"},
      {"\"name\": \"I\"", "\"name\": \"X\"", "two arguments"},
      {"\"num_warps\": 4", "\"num_warps\": 400", "num_warps"},
      {"\"num_warps\": 4", "\"num_warps\": 3", "power of two"},
      {"\"num_warps\": 4", "\"num_warps\": 0", "power of two"},
      {"\"num_stages\": null", "\"num_stages\": 65", "num_stages is 65"},
      {"\"kernel.py\"", "\"../k.py\"", "in the case's folder"},
      {"\"kernel.py\"", "\"/k.py\"", "in the case's folder"},
      {"\"given\": {\"B\": 64}", "\"given\": 3", "given is not an object"},
      {"\"sequence\"", "\"sequense\"", "did you mean `sequence`?"},
      {"512,", "-1,", "the sequence length is -1"},
      {"\"threads\": 3", "\"threads\": -3", "the number of threads is -3"},
      {"\"args\": [", "\"args\": 3, \"x\": [", "`args`"},
  };
  for (const auto &mistake : mistakes) {
    const std::string got = failure(replaced(good, mistake.from, mistake.to));
    EXPECT_NE(got.find(mistake.part), std::string::npos)
        << mistake.from << " -> " << mistake.to << ": " << got;
  }
  EXPECT_NE(failure("[]").find("not a JSON object"), std::string::npos);
  EXPECT_NE(failure("{").find("not valid JSON"), std::string::npos);
}

TEST(Case, OddFormsAreRead) {
  EXPECT_EQ(failure(replaced(good, "[2, 3]", "7")), "");
  EXPECT_EQ(readCase(replaced(good, "[2, 3]", "7"), "").grid, (Grid{7, 1, 1}));
  const Case large = readCase(
      replaced(good, "6364136223846793005", "18446744073709551615"), "");
  EXPECT_FALSE(large.find("n")->value);
  EXPECT_EQ(large.find("n")->text, "18446744073709551615");
  const Case fp8 = readCase(
      replaced(good, "\"fp32\", \"shape\"", "\"fp8e5\", \"shape\""), "");
  EXPECT_EQ(fp8.find("X")->type, DType::FP8E5);
  const Case other = readCase(
      replaced(good, "\"fp32\", \"shape\"", "\"fp8e4b8\", \"shape\""), "");
  EXPECT_FALSE(other.find("X")->type);
  EXPECT_EQ(
      readCase(replaced(good, ", \"strides\": [2, 1], \"elements\": 8", ""), "")
          .find("X")
          ->elements,
      8);
}

TEST(Safetensors, WritesWhatItReads) {
  Tensors tensors;
  tensors["a"] = {"F32", {2, 1}, std::string(8, 'x')};
  tensors["empty"] = {"BF16", {0, 1ll << 40}, ""};
  tensors["one"] = {"I64", {}, std::string(8, 'y')};
  tensors["flag"] = {"BOOL", {3}, std::string("\1\0\1", 3)};
  const std::string bytes = writeSafetensors(tensors);
  const Tensors back = readSafetensors(bytes, "x");
  ASSERT_EQ(back.size(), 4u);
  for (const auto &[name, tensor] : tensors) {
    EXPECT_EQ(back.at(name).dtype, tensor.dtype);
    EXPECT_EQ(back.at(name).shape, tensor.shape);
    EXPECT_EQ(back.at(name).bytes, tensor.bytes);
  }
  EXPECT_EQ(back.at("one").count(), 1);
  EXPECT_EQ(writeSafetensors(back), bytes);
}

TEST(Safetensors, DamageIsTold) {
  const std::string data(16, '\0');
  const struct {
    std::string header, part;
  } table[] = {
      {"{", "not JSON"},
      {"[]", "not a JSON object"},
      {R"({"a": 3})", "lacks dtype"},
      {R"({"a": {"dtype": "F32", "shape": [4]}})", "lacks dtype"},
      {R"({"a": {"dtype": "F33", "shape": [4], "data_offsets": [0, 16]}})",
       "did you mean `F32`?"},
      {R"({"a": {"dtype": "F32", "shape": [-4], "data_offsets": [0, 16]}})",
       "list of sizes"},
      {R"({"a": {"dtype": "F32", "shape": [4.0], "data_offsets": [0, 16]}})",
       "list of sizes"},
      {R"({"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 20]}})",
       "outside the file"},
      {R"({"a": {"dtype": "F32", "shape": [4], "data_offsets": [16, 0]}})",
       "outside the file"},
      {R"({"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, -1]}})",
       "outside the file"},
      {R"({"a": {"dtype": "F32", "shape": [3], "data_offsets": [0, 16]}})",
       "ask for 12"},
      {R"({"a": {"dtype": "F32", "shape": [4611686018427387904, 4], "data_offsets": [0, 0]}})",
       "longer than the file"},
  };
  for (const auto &entry : table)
    try {
      readSafetensors(withPrefix(entry.header, data), "x.safetensors");
      ADD_FAILURE() << entry.header;
    } catch (const Error &error) {
      EXPECT_NE(std::string(error.what()).find(entry.part), std::string::npos)
          << entry.header << ": " << error.what();
      EXPECT_NE(error.message.find("x.safetensors"), std::string::npos);
      EXPECT_FALSE(error.hint.empty());
    }
  EXPECT_EQ(readSafetensors(
                withPrefix(R"({"__metadata__": {"format": "pt"}})", ""), "x")
                .size(),
            0u);
}

// Strides of a small file may ask for any amount of memory, which is written.
TEST(Memory, GapsAreBounded) {
  auto strided = [](const char *stride) {
    const Case recorded = readCase(
        replaced(good, "[2, 1], \"elements\": 8",
                 (std::string("[") + stride + ", 1], \"elements\": 8").c_str()),
        "case.json");
    return recorded.arguments.at(0);
  };
  const StoredTensor stored{"F32", {4, 2}, std::string(32, 'x')};
  uint64_t left = 1000;
  // 3 * 50 + 2 elements in memory, 8 in the file; of 4 bytes each.
  EXPECT_EQ(makeBuffer(strided("50"), stored, "X", &left).size(), 608u);
  EXPECT_EQ(left, 1000u - 4 * (152 - 8));
  auto refusal = [&](const CaseArgument &argument, uint64_t *gaps) {
    try {
      makeBuffer(argument, stored, "the tensor X", gaps);
    } catch (const Error &error) {
      EXPECT_FALSE(error.hint.empty());
      return error.message;
    }
    return std::string("made");
  };
  EXPECT_NE(refusal(strided("50"), &left).find("the tensor X: its strides put"),
            std::string::npos); // of the 1000 bytes 424 are left
  EXPECT_NE(
      refusal(strided("100000000"), nullptr).find("8 elements into 286 Mi"),
      std::string::npos);
  EXPECT_EQ(refusal(strided("1000"), nullptr), "made");
}

// Whatever the bytes are, the readers give an Error or a value.
TEST(Damage, TruncatedAndFlippedFiles) {
  const std::filesystem::path folder =
      std::filesystem::path(TESSERA_CASES) / "own_matmul-fp32.matmul_plain";
  const std::string json = readFile(folder / "case.json");
  const std::string tensors = readFile(folder / "after.safetensors");
  size_t errors = 0, reads = 0;
  auto attempt = [&](auto &&read) {
    ++reads;
    try {
      read();
    } catch (const Error &error) {
      EXPECT_FALSE(error.message.empty());
      ++errors;
    }
  };
  auto both = [&](const std::string &text, const std::string &bytes) {
    attempt([&] { readCase(text, "case.json"); });
    attempt([&] { readSafetensors(bytes, "x"); });
  };
  for (size_t length = 0; length < json.size(); ++length)
    attempt([&] { readCase(json.substr(0, length), "case.json"); });
  for (size_t length = 0; length < tensors.size();
       length += length < 200 ? 1 : 97)
    attempt([&] { readSafetensors(tensors.substr(0, length), "x"); });
  EXPECT_GE(errors + 2, reads); // only the last line ends may be missing
  std::mt19937 engine(7);
  for (int i = 0; i < 3000; ++i) {
    std::string text = json, bytes = tensors;
    for (unsigned flips = 1 + engine() % 3; flips; --flips) {
      text[engine() % text.size()] ^= char(1 << engine() % 8);
      bytes[engine() % 80] ^= char(1 << engine() % 8);
    }
    both(text, bytes);
  }
  EXPECT_GT(errors, 3000u);
}

TEST(Record, KernelsArePickedByPatterns) {
  const auto matches = [](const std::string &patterns) {
    return runtime::matchesKernel("window_fwd", patterns);
  };
  for (const char *patterns :
       {"", "window_fwd", "*_fwd", "a,window_?wd", "a,,*"})
    EXPECT_TRUE(matches(patterns)) << patterns;
  for (const char *patterns : {"window", "a,b", ",", "window_fwd "})
    EXPECT_FALSE(matches(patterns)) << patterns;
}
