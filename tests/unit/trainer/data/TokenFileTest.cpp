// tests/unit/trainer/data/TokenFileTest.cpp - headers good and damaged.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/TokenFile.h"

#include "support/Error.h"
#include "tests/unit/trainer/data/LlmCFile.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::trainer;

namespace {

TokenLayout shard() {
  TokenLayout l;
  l.format = TokenFormat::Shard;
  l.width = 2;
  l.vocabulary = 257;
  l.endToken = 256;
  l.tokens = 10;
  l.documents = 2;
  l.textBytes = 8;
  l.sha256 = std::string(64, 'a');
  return l;
}
constexpr int64_t shardSize = 1024 + 10 * 2 + 2 * 8;

std::string refusal(const std::string &head, int64_t size) {
  try {
    readLayout(head, size, "x.bin");
  } catch (const Error &e) {
    EXPECT_FALSE(e.hint.empty());
    EXPECT_TRUE(e.message.starts_with("x.bin")) << e.message;
    return e.message;
  }
  return "accepted";
}

TEST(TokenFile, AShardsHeaderComesBack) {
  const TokenLayout l = readLayout(shardHeader(shard()), shardSize, "x.bin");
  EXPECT_EQ(l.format, TokenFormat::Shard);
  EXPECT_EQ(l.width, 2);
  EXPECT_EQ(l.offset, 1024);
  EXPECT_EQ(l.tokens, 10);
  EXPECT_EQ(l.documents, 2);
  EXPECT_EQ(l.vocabulary, 257);
  EXPECT_EQ(l.endToken, 256);
  EXPECT_EQ(l.textBytes, 8);
  EXPECT_EQ(l.tokenizer, "byte");
  EXPECT_EQ(l.sha256, std::string(64, 'a'));
}

TEST(TokenFile, ADamagedShardIsRefused) {
  const std::string good = shardHeader(shard());
  EXPECT_NE(refusal(good, shardSize - 1).find("describes 1060 bytes, it has"),
            std::string::npos);
  EXPECT_NE(refusal(good.substr(0, 500), 500).find("inside its header"),
            std::string::npos);
  const auto changed = [&](const std::string &from, const std::string &to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    text.resize(1024, ' ');
    return refusal(text, shardSize);
  };
  EXPECT_NE(changed("{", "[").find("not a JSON object"), std::string::npos);
  EXPECT_NE(changed("\"u16\"", "\"f16\"").find("f16"), std::string::npos);
  EXPECT_NE(changed("\"tokens\":10", "\"tokens\":-1").find("'tokens'"),
            std::string::npos);
  EXPECT_NE(changed("\"tokens\":10", "\"tokens\":99999999999999999999")
                .find("'tokens'"),
            std::string::npos);
  EXPECT_NE(changed("\"end\":256", "\"end\":257").find("'end'"),
            std::string::npos);
  EXPECT_NE(changed("\"version\":1", "\"version\":7").find("version"),
            std::string::npos);
  EXPECT_NE(changed("\"vocabulary\":257", "\"vocabulary\":0").find("empty"),
            std::string::npos);
}

TEST(TokenFile, ReadsBothKindsOfLlmC) {
  const std::string gpt2 = llmcFile({50256, 1, 2, 50255});
  const TokenLayout small =
      readLayout(gpt2.substr(0, 1024), int64_t(gpt2.size()), "x.bin");
  EXPECT_EQ(small.format, TokenFormat::LlmC);
  EXPECT_EQ(small.tokens, 4);
  EXPECT_EQ(small.width, 2);
  EXPECT_EQ(small.vocabulary, 50257);
  EXPECT_EQ(small.textBytes, 0);
  const std::string llama = llmcFile({128000, 5}, 20240801, 7, 4);
  const TokenLayout large =
      readLayout(llama.substr(0, 1024), int64_t(llama.size()), "x.bin");
  EXPECT_EQ(large.width, 4);
  EXPECT_EQ(large.vocabulary, 128256);
}

// More than 2^31 tokens, of which the 32-bit count keeps the low part.
TEST(TokenFile, ALongFileOfLlmCHas64Bits) {
  std::string head = llmcFile({}).substr(0, 1024);
  const int64_t tokens = (int64_t(1) << 32) + 5;
  const uint32_t low = 5;
  std::memcpy(head.data() + 8, &low, 4);
  EXPECT_EQ(readLayout(head, 1024 + tokens * 2, "x.bin").tokens, tokens);
}

TEST(TokenFile, ADamagedFileOfLlmCIsRefused) {
  const std::string good = llmcFile({1, 2, 3});
  EXPECT_NE(refusal(good, int64_t(good.size()) - 2).find("says 3 tokens"),
            std::string::npos);
  EXPECT_NE(refusal(good, int64_t(good.size()) - 1).find("no multiple of 2"),
            std::string::npos);
  EXPECT_NE(refusal(good.substr(0, 100), 100).find("inside its header"),
            std::string::npos);
  EXPECT_NE(refusal(llmcFile({1}, 20240520, 2), 1026).find("version 2"),
            std::string::npos);
}

TEST(TokenFile, AllElseIsText) {
  const TokenLayout l = readLayout("In the beginning", 16, "x.txt");
  EXPECT_EQ(l.format, TokenFormat::Text);
  EXPECT_EQ(l.tokens, 16);
  EXPECT_EQ(l.textBytes, 16);
  EXPECT_EQ(l.vocabulary, 256);
  EXPECT_EQ(readLayout("", 0, "empty").tokens, 0);
}

} // namespace
