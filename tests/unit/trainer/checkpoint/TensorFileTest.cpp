// tests/unit/trainer/checkpoint/TensorFileTest.cpp - safetensors out, in, and
// damaged.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/checkpoint/TensorFile.h"

#include "support/Error.h"
#include "support/File.h"
#include "support/Process.h"
#include "tests/unit/trainer/TestFolder.h"

#include <ATen/ATen.h>
#include <cstring>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace tessera;
using namespace tessera::trainer;

namespace {

std::vector<models::Parameter> some() {
  return {{"b", at::arange(6, at::kFloat).view({2, 3})},
          {"a.scalar", at::full({}, 7.5f)},
          {"c", at::full({5}, -1.0f)}};
}

std::vector<models::Parameter> blank(std::vector<models::Parameter> all) {
  for (auto &p : all) {
    p.value = at::empty_like(p.value);
    if (p.value.nbytes() > 0)
      std::memset(p.value.data_ptr(), 0, p.value.nbytes());
  }
  return all;
}

/// Two numbers of every type the format has, and shapes and strides of all
/// kinds. The one-byte types come first, in odd numbers.
std::vector<models::Parameter> everyType() {
  std::vector<models::Parameter> all;
  const std::pair<const char *, at::ScalarType> types[] = {
      {"BOOL", at::kBool},
      {"U8", at::kByte},
      {"I8", at::kChar},
      {"F8_E4M3", at::kFloat8_e4m3fn},
      {"F8_E5M2", at::kFloat8_e5m2},
      {"F8_E8M0", at::kFloat8_e8m0fnu},
      {"U16", at::kUInt16},
      {"I16", at::kShort},
      {"F16", at::kHalf},
      {"BF16", at::kBFloat16},
      {"U32", at::kUInt32},
      {"I32", at::kInt},
      {"F32", at::kFloat},
      {"U64", at::kUInt64},
      {"I64", at::kLong},
      {"F64", at::kDouble}};
  for (const auto &[name, type] : types) {
    const float first = type == at::kFloat8_e8m0fnu ? 2 : 0;
    all.push_back({name, at::tensor({first, 1.0f, 1.0f}).to(type)});
  }
  all.push_back({"transposed", at::arange(6, at::kHalf).view({2, 3}).t()});
  all.push_back({"strided", at::arange(10, at::kInt).slice(0, 1, 10, 3)});
  all.push_back({"empty", at::zeros({0, 4}, at::kDouble)});
  all.push_back({"scalar", at::full({}, int64_t(1) << 62, at::kLong)});
  return all;
}

CommandResult reader(const std::string &what, const std::string &path) {
  return runCommand({TESSERA_PYTHON, TESSERA_READER, what, path},
                    std::chrono::seconds(60));
}

void expectEqual(const std::vector<models::Parameter> &got,
                 const std::vector<models::Parameter> &wanted) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    const at::Tensor a = got[i].value.contiguous(),
                     b = wanted[i].value.contiguous();
    EXPECT_EQ(a.scalar_type(), b.scalar_type()) << wanted[i].name;
    ASSERT_EQ(a.nbytes(), b.nbytes()) << wanted[i].name;
    if (a.nbytes() > 0) {
      EXPECT_EQ(std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()),
                0)
          << wanted[i].name;
    }
  }
}

TEST(TensorFile, RoundTrip) {
  const TestFolder folder;
  const std::string bytes = encodeTensors(some());
  folder.write("t", bytes);
  auto read = blank(some());
  readTensors(folder.file("t"), read);
  expectEqual(read, some());
  // Data starts at a multiple of 64 bytes after a header that begins with {.
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  EXPECT_EQ((length + 8) % 64, 0u);
  EXPECT_EQ(bytes[8], '{');
  EXPECT_EQ(bytes.size(), length + 8 + 4 * 12);
}

TEST(TensorFile, EveryTypeComesBack) {
  const std::string bytes = encodeTensors(everyType());
  // At an odd address, too.
  const std::string moved = "x" + bytes;
  for (const std::string_view view :
       {std::string_view(bytes), std::string_view(moved).substr(1)}) {
    auto read = blank(everyType());
    decodeTensors(view, "t", read);
    expectEqual(read, everyType());
  }
  // Into a tensor whose elements are not contiguous.
  std::vector<models::Parameter> one = {
      {"x", at::arange(6, at::kShort).view({2, 3})}};
  std::vector<models::Parameter> other = {
      {"x", at::zeros({3, 2}, at::kShort).t()}};
  decodeTensors(encodeTensors(one), "t", other);
  EXPECT_TRUE(at::equal(one[0].value, other[0].value));
}

// Another reader of the format, which knows nothing of ours, sees the same
// types, shapes and numbers, and no gaps.
TEST(TensorFile, AnIndependentReaderSeesTheSame) {
  const TestFolder folder;
  folder.write("t", encodeTensors(everyType()));
  const CommandResult result = reader("read", folder.file("t"));
  ASSERT_TRUE(result.status.ok()) << result.errors;
  const auto seen = nlohmann::json::parse(result.output);
  const auto wanted = everyType();
  EXPECT_EQ(seen.size(), wanted.size());
  for (const auto &[name, tensor, stacked] : wanted) {
    const auto &[dtype, shape, values] =
        seen.at(name)
            .get<std::tuple<std::string, std::vector<int64_t>,
                            std::vector<nlohmann::json>>>();
    if (name[0] < 'a') { // named after its type
      EXPECT_EQ(dtype, name);
    }
    EXPECT_EQ(shape, tensor.sizes().vec()) << name;
    const at::Tensor flat = tensor.flatten().to(at::kDouble);
    ASSERT_EQ(values.size(), size_t(flat.numel())) << name;
    for (size_t i = 0; i < values.size(); ++i)
      EXPECT_EQ(values[i].is_boolean() ? double(values[i].get<bool>())
                                       : values[i].get<double>(),
                flat[int64_t(i)].item<double>())
          << name;
  }
}

TEST(TensorFile, ReadsWhatAnotherProgramWrote) {
  const TestFolder folder;
  const CommandResult result = reader("write", folder.file("t"));
  ASSERT_TRUE(result.status.ok()) << result.errors;
  std::vector<models::Parameter> read;
  for (const auto &p : everyType())
    if (p.name[0] < 'a')
      read.push_back({p.name, at::empty({1, 3}, p.value.options())});
  readTensors(folder.file("t"), read);
  std::map<std::string, std::vector<double>> values = {
      {"F16", {1.5, -2, 0}},     {"F32", {1.5, -2, 0}},
      {"F64", {1.5, -2, 0}},     {"BF16", {1.5, -2, 0}},
      {"F8_E4M3", {1.5, -2, 0}}, {"F8_E5M2", {1.5, -2, 0}},
      {"F8_E8M0", {1, 2, 0.5}},  {"I8", {-128, 0, 127}},
      {"I16", {-32768, 0, 1}},   {"I32", {-1, 0, 7}},
      {"I64", {-0x1p63, 0, 5}},  {"U64", {0x1p63, 0, 1}}};
  for (const auto &p : read) {
    const auto found = values.find(p.name);
    const std::vector<double> wanted =
        found == values.end() ? std::vector<double>{1, 0, 1} : found->second;
    for (int64_t i = 0; i < 3; ++i)
      EXPECT_EQ(p.value[0][i].to(at::kDouble).item<double>(), wanted[size_t(i)])
          << p.name;
  }
}

TEST(TensorFile, RefusesDamageAndChangesNothing) {
  const std::string good = encodeTensors(some());
  const auto replaced = [&](const std::string &what, const std::string &with) {
    std::string bytes = good;
    bytes.replace(bytes.find(what), what.size(), with);
    return bytes;
  };
  std::string hugeHeader = good;
  hugeHeader[7] = 1;
  for (const std::string &bad :
       {std::string(), good.substr(0, 4), good.substr(0, 40),
        good.substr(0, good.size() - 1), hugeHeader, replaced("[2,3]", "[3,2]"),
        replaced("[0,24]", "[9,24]"),
        // Other types, of the same and of another width.
        replaced("\"F32\"", "\"I32\""), replaced("\"F32\"", "\"F16\""),
        replaced("\"F32\"", "\"X32\""),
        // Products and ends that only a wrapping sum would let through.
        replaced("[2,3]", "[9223372036854775807,9223372036854775807]"),
        replaced("[0,24]", "[18446744073709551592,0]")}) {
    auto read = blank(some());
    EXPECT_THROW(decodeTensors(bad, "bad", read), Error);
    for (const auto &p : read)
      EXPECT_EQ(p.value.abs().sum().item<double>(), 0);
  }
  auto fewer = blank(some());
  fewer.pop_back();
  EXPECT_THROW(decodeTensors(good, "t", fewer), Error);
  auto renamed = blank(some());
  renamed[0].name = "z";
  EXPECT_THROW(decodeTensors(good, "t", renamed), Error);
  auto wider = blank(some());
  wider[0].value = wider[0].value.to(at::kDouble);
  try {
    decodeTensors(good, "t", wider);
    FAIL() << "a tensor of another type was accepted";
  } catch (const Error &error) {
    EXPECT_NE(error.message.find("t does not fit the model: "),
              std::string::npos);
    EXPECT_NE(error.message.find("is F32 ["), std::string::npos);
    EXPECT_NE(error.message.find("the model's is F64 ["), std::string::npos);
  }
  EXPECT_THROW(encodeTensors({{"z", at::zeros({1}, at::kComplexFloat)}}),
               Error);
}

} // namespace
