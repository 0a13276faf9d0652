// trainer/data/TokenFile.cpp - headers of llm.c's files and of the project's
// shards.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/TokenFile.h"

#include "support/Error.h"
#include "support/ShallowJson.h"

#include <cstring>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tessera::trainer {
namespace {

using nlohmann::json;

constexpr std::string_view magic = "TSRTOK01";
constexpr int64_t llmcHeaderBytes = 1024;

/// A file format of llm.c: the first two numbers of its header, and its tokens.
struct LlmC {
  int32_t magic, version;
  int width;
  int64_t vocabulary;
  const char *tokenizer;
  int64_t endToken;
};
constexpr LlmC llmcKinds[] = {
    {20240520, 1, 2, 50257, "gpt2", 50256},
    {20240801, 7, 4, 128256, "llama3", 128000},
};

[[noreturn]] void damaged(const std::string &name, const std::string &what) {
  throw Error(fmt::format("{}: {}", name, what),
              "the file is damaged or was not written to its end; make it "
              "again, or take it out of data.path");
}

int32_t intAt(std::string_view head, size_t index) {
  int32_t value = 0;
  std::memcpy(&value, head.data() + 4 * index, sizeof value);
  return value;
}

TokenLayout readLlmC(const LlmC &kind, std::string_view head, int64_t size,
                     const std::string &name) {
  if (intAt(head, 1) != kind.version)
    damaged(name, fmt::format("version {} of llm.c's format {}, known is {}",
                              intAt(head, 1), kind.magic, kind.version));
  TokenLayout layout;
  layout.format = TokenFormat::LlmC;
  layout.width = kind.width;
  layout.offset = llmcHeaderBytes;
  layout.vocabulary = kind.vocabulary;
  layout.tokenizer = kind.tokenizer;
  layout.endToken = kind.endToken;
  const int64_t payload = size - llmcHeaderBytes;
  if (payload % kind.width != 0)
    damaged(name, fmt::format("{} bytes of tokens are no multiple of {}",
                              payload, kind.width));
  layout.tokens = payload / kind.width;
  // The header's count has 32 bits, so it is the number of tokens modulo 2^32.
  if (uint32_t(intAt(head, 2)) != uint32_t(layout.tokens))
    damaged(name, fmt::format("its header says {} tokens, it holds {}",
                              uint32_t(intAt(head, 2)), layout.tokens));
  return layout;
}

/// Returns an integer of the header. Throws Error unless it is in 0 .. most.
int64_t numberOf(const json &header, const char *key, int64_t most,
                 const std::string &name) {
  const auto found = header.find(key);
  if (found == header.end() || !found->is_number_integer())
    damaged(name, fmt::format("its header has no number '{}'", key));
  if (found->is_number_unsigned() && found->get<uint64_t>() > uint64_t(most))
    damaged(name, fmt::format("'{}' of its header is too large", key));
  const int64_t value = found->get<int64_t>();
  if (value < 0 || value > most)
    damaged(name, fmt::format("'{}' of its header is {}", key, value));
  return value;
}

std::string textOf(const json &header, const char *key,
                   const std::string &name) {
  const auto found = header.find(key);
  if (found == header.end() || !found->is_string())
    damaged(name, fmt::format("its header has no text '{}'", key));
  return found->get<std::string>();
}

TokenLayout readShard(std::string_view head, int64_t size,
                      const std::string &name) {
  if (int64_t(head.size()) < shardHeaderBytes)
    damaged(name, "it ends inside its header");
  const json header = parseShallowJson(
      head.substr(magic.size(), size_t(shardHeaderBytes) - magic.size()));
  if (!header.is_object())
    damaged(name, "its header is not a JSON object");
  if (numberOf(header, "version", 1 << 30, name) != 1)
    damaged(name, "its header has a version that is not known here");
  TokenLayout layout;
  layout.format = TokenFormat::Shard;
  layout.offset = shardHeaderBytes;
  const std::string dtype = textOf(header, "dtype", name);
  if (dtype != "u16" && dtype != "u32")
    damaged(name, fmt::format("dtype '{}' is neither u16 nor u32", dtype));
  layout.width = dtype == "u16" ? 2 : 4;
  layout.vocabulary = numberOf(header, "vocabulary", int64_t(1) << 24, name);
  if (layout.vocabulary < 1)
    damaged(name, "its vocabulary is empty");
  layout.tokenizer = textOf(header, "tokenizer", name);
  // shardHeader() omits the key if endToken is -1.
  if (header.contains("end"))
    layout.endToken = numberOf(header, "end", layout.vocabulary - 1, name);
  layout.tokens = numberOf(header, "tokens", size / layout.width, name);
  layout.documents = numberOf(header, "documents", size / 8, name);
  layout.textBytes = numberOf(header, "text_bytes", int64_t(1) << 60, name);
  layout.sha256 = textOf(header, "sha256", name);
  const int64_t expected =
      shardHeaderBytes + layout.tokens * layout.width + layout.documents * 8;
  if (expected != size)
    damaged(name, fmt::format("its header describes {} bytes, it has {}",
                              expected, size));
  return layout;
}

} // namespace

TokenLayout readLayout(std::string_view head, int64_t size,
                       const std::string &name) {
  if (head.starts_with(magic))
    return readShard(head, size, name);
  if (head.size() >= 4)
    for (const LlmC &kind : llmcKinds) {
      if (intAt(head, 0) != kind.magic)
        continue;
      if (int64_t(head.size()) < llmcHeaderBytes)
        damaged(name, "it ends inside its header");
      return readLlmC(kind, head, size, name);
    }
  TokenLayout text;
  text.tokens = text.textBytes = size;
  return text;
}

std::string shardHeader(const TokenLayout &layout) {
  json header = {{"version", 1},
                 {"dtype", layout.width == 2 ? "u16" : "u32"},
                 {"vocabulary", layout.vocabulary},
                 {"tokenizer", layout.tokenizer},
                 {"tokens", layout.tokens},
                 {"documents", layout.documents},
                 {"text_bytes", layout.textBytes},
                 {"sha256", layout.sha256}};
  if (layout.endToken >= 0)
    header["end"] = layout.endToken;
  std::string text = std::string(magic) + header.dump();
  if (int64_t(text.size()) > shardHeaderBytes)
    throw Error("the name of the tokenizer is too long for a shard's header",
                "choose a shorter one");
  text.resize(size_t(shardHeaderBytes), ' ');
  return text;
}

const char *formatName(TokenFormat format) {
  switch (format) {
  case TokenFormat::Text:
    return "text";
  case TokenFormat::LlmC:
    return "llm.c .bin";
  case TokenFormat::Shard:
    return "shard";
  }
  return "";
}

} // namespace tessera::trainer
