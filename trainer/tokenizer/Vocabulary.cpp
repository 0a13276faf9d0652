// trainer/tokenizer/Vocabulary.cpp - reads vocab.json, merges.txt and
// tiktoken's files; writes the first two.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/tokenizer/Vocabulary.h"

#include "support/Error.h"
#include "support/File.h"
#include "support/Hash.h"
#include "support/ShallowJson.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>

namespace fs = std::filesystem;

namespace tessera::trainer {
namespace {

using Numbers = std::unordered_map<std::string, uint32_t>;

constexpr const char *formats =
    "a tokenizer is a folder with vocab.json and merges.txt (GPT-2's files), "
    "or a file of tiktoken's ranks";

[[noreturn]] void refuse(const std::string &place, const std::string &what) {
  throw Error(fmt::format("{}: {}", place, what), formats);
}

/// Adds a token. Throws tessera::Error if its bytes are empty, or if its bytes
/// or its number occurred before.
void addToken(Vocabulary &vocabulary, Numbers &numbers, std::string bytes,
              int64_t number, const std::string &place) {
  if (number < 0 || number >= mostTokens)
    refuse(place, fmt::format("token number {} is not from 0 to {}", number,
                              mostTokens - 1));
  if (bytes.empty())
    refuse(place, fmt::format("token {} is empty", number));
  auto &tokens = vocabulary.tokens;
  if (size_t(number) >= tokens.size())
    tokens.resize(size_t(number) + 1);
  if (!tokens[size_t(number)].empty())
    refuse(place, fmt::format("the number {} is given twice", number));
  if (!numbers.insert({bytes, uint32_t(number)}).second)
    refuse(place, fmt::format("a token is given twice, again as {}", number));
  tokens[size_t(number)] = std::move(bytes);
}

void requireBytes(const Numbers &numbers, const std::string &place) {
  for (int byte = 0; byte < 256; ++byte)
    if (!numbers.contains(std::string(1, char(byte))))
      refuse(place, fmt::format("byte 0x{:02x} has no token", byte));
}

/// Calls visit(line, number) for every line, without its LF or CR LF. Numbers
/// start at 1.
template <typename F>
void forLines(std::string_view text, F visit) {
  int64_t number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    visit(line, ++number);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void addMerges(Vocabulary &vocabulary, const Numbers &numbers,
               std::string_view text, const std::string &place) {
  forLines(text, [&](std::string_view line, int64_t number) {
    if (line.empty() || (number == 1 && line.starts_with("#version")))
      return;
    const std::string at = fmt::format("{}:{}", place, number);
    const size_t space = line.find(' ');
    if (space == std::string_view::npos ||
        line.find(' ', space + 1) != std::string_view::npos)
      refuse(at, "a merge is two tokens with a blank between them");
    const auto token = [&](const std::string &bytes) {
      const auto found = numbers.find(bytes);
      if (found == numbers.end())
        refuse(at, fmt::format("'{}' is not a token of the vocabulary",
                               lettersOf(bytes)));
      return found->second;
    };
    const std::string left = bytesOf(line.substr(0, space)),
                      right = bytesOf(line.substr(space + 1));
    vocabulary.merges.push_back({token(left), token(right), token(left + right),
                                 uint32_t(vocabulary.merges.size())});
  });
}

std::string base64(std::string_view text, const std::string &place) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmn"
                                      "opqrstuvwxyz0123456789+/";
  if (text.size() % 4 != 0)
    refuse(place, "the token is not base64");
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  std::string bytes;
  uint32_t bits = 0;
  for (size_t i = 0; i < text.size() - padding; ++i) {
    const size_t digit = digits.find(text[i]);
    if (digit == std::string_view::npos)
      refuse(place, "the token is not base64");
    bits = bits << 6 | uint32_t(digit);
    if (i % 4 != 0)
      bytes += char(bits >> (6 - i % 4 * 2) & 255);
  }
  return bytes;
}

/// Adds a merge for every split of a token's bytes into two tokens, with the
/// number of the token as its rank. tiktoken looks up the joined bytes and so
/// accepts every such pair.
void addPairs(Vocabulary &vocabulary, const Numbers &numbers) {
  for (size_t number = 0; number < vocabulary.tokens.size(); ++number) {
    const std::string &bytes = vocabulary.tokens[number];
    for (size_t at = 1; at < bytes.size(); ++at) {
      const auto left = numbers.find(bytes.substr(0, at)),
                 right = numbers.find(bytes.substr(at));
      if (left != numbers.end() && right != numbers.end())
        vocabulary.merges.push_back(
            {left->second, right->second, uint32_t(number), uint32_t(number)});
    }
  }
}

/// Splits a token into the two tokens that byte-pair encoding joins last, by
/// the merges of lower ranks. Returns nullptr if there are no such two tokens.
const Merge *lastMerge(
    const std::string &token, uint32_t rank, const Numbers &numbers,
    const std::map<std::pair<uint32_t, uint32_t>, const Merge *> &merges) {
  std::vector<uint32_t> parts;
  for (const char byte : token)
    parts.push_back(numbers.at(std::string(1, byte)));
  while (true) {
    const Merge *best = nullptr;
    size_t place = 0;
    for (size_t i = 0; i + 1 < parts.size(); ++i)
      if (const auto found = merges.find({parts[i], parts[i + 1]});
          found != merges.end() &&
          (!best || found->second->rank < best->rank)) {
        best = found->second;
        place = i;
      }
    if (!best || (parts.size() == 2 && best->rank == rank))
      return best;
    if (best->rank >= rank)
      return nullptr;
    parts[place] = best->result;
    parts.erase(parts.begin() + std::ptrdiff_t(place) + 1);
  }
}

/// Returns the merges as merges.txt has them: one for each rank. tiktoken's
/// files have one for each split of a token; of these it returns the one that
/// byte-pair encoding uses. Throws tessera::Error if there is none.
std::vector<Merge> orderedMerges(const Vocabulary &vocabulary) {
  std::map<std::pair<uint32_t, uint32_t>, const Merge *> merges;
  std::set<uint32_t> ranks;
  for (const Merge &m : vocabulary.merges) {
    merges[{m.left, m.right}] = &m;
    ranks.insert(m.rank);
  }
  if (ranks.size() == vocabulary.merges.size())
    return vocabulary.merges;
  Numbers numbers;
  for (size_t number = 0; number < vocabulary.tokens.size(); ++number)
    numbers[vocabulary.tokens[number]] = uint32_t(number);
  std::vector<Merge> ordered;
  for (const uint32_t rank : ranks) { // also the number of the token
    const Merge *merge =
        lastMerge(vocabulary.tokens[rank], rank, numbers, merges);
    if (!merge)
      throw Error(fmt::format("token {} is not made of two earlier tokens, "
                              "which merges.txt needs",
                              rank),
                  "give the file of ranks itself: --tokenizer FILE");
    ordered.push_back(*merge);
  }
  return ordered;
}

std::string readBounded(const fs::path &path) {
  constexpr uintmax_t most = uintmax_t(256) << 20;
  std::error_code code;
  const uintmax_t size = fs::file_size(path, code);
  if (!code && size > most)
    refuse(path.string(),
           fmt::format("{} bytes are more than a tokenizer has", size));
  return readFile(path);
}

} // namespace

std::string Vocabulary::hash() const {
  Sha256 sum;
  const auto add = [&](uint64_t value) {
    sum.update(fmt::format("{},", value));
  };
  for (const std::string &token : tokens) {
    add(token.size());
    sum.update(token);
  }
  for (const Merge &m : merges)
    for (const uint32_t value : {m.left, m.right, m.result, m.rank})
      add(value);
  add(uint64_t(end + 1));
  return toHex(sum.finish());
}

Vocabulary parseVocabulary(std::string_view vocabulary, std::string_view merges,
                           const std::string &vocabularyPlace,
                           const std::string &mergesPlace) {
  const auto json = parseShallowJson(vocabulary);
  if (!json.is_object())
    refuse(vocabularyPlace, "it is not a JSON object of tokens and numbers");
  Vocabulary result;
  Numbers numbers;
  for (const auto &[letters, number] : json.items()) {
    const bool small = number.is_number_integer() &&
                       (!number.is_number_unsigned() ||
                        number.get<uint64_t>() <= uint64_t(mostTokens));
    if (!small)
      refuse(vocabularyPlace,
             fmt::format("the number of '{}' is none, or too large", letters));
    addToken(result, numbers, bytesOf(letters), number.get<int64_t>(),
             vocabularyPlace);
  }
  requireBytes(numbers, vocabularyPlace);
  addMerges(result, numbers, merges, mergesPlace);
  if (const auto found = numbers.find(std::string(endOfText));
      found != numbers.end())
    result.end = found->second;
  return result;
}

Vocabulary parseRanks(std::string_view text, const std::string &place) {
  Vocabulary result;
  Numbers numbers;
  forLines(text, [&](std::string_view line, int64_t number) {
    if (line.empty())
      return;
    const std::string at = fmt::format("{}:{}", place, number);
    const size_t space = std::min(line.find(' '), line.size());
    const std::string_view digits =
        line.substr(std::min(space + 1, line.size()));
    int64_t rank = -1;
    const auto [end, code] =
        std::from_chars(digits.data(), digits.data() + digits.size(), rank);
    if (code != std::errc() || end != digits.data() + digits.size())
      refuse(at, "a line of ranks is a token in base64, a blank and a number");
    addToken(result, numbers, base64(line.substr(0, space), at), rank, at);
  });
  requireBytes(numbers, place);
  addPairs(result, numbers);
  result.end = int64_t(result.tokens.size());
  if (!numbers.contains(std::string(endOfText)))
    result.tokens.emplace_back(endOfText);
  else
    result.end = numbers.at(std::string(endOfText));
  return result;
}

Vocabulary readVocabulary(const std::string &path) {
  std::error_code code;
  if (!fs::is_directory(path, code))
    return parseRanks(readBounded(path), path);
  const auto either = [&](const char *first, const char *second) {
    for (const char *name : {first, second})
      if (fs::exists(fs::path(path) / name, code))
        return fs::path(path) / name;
    throw Error(fmt::format("{} holds neither {} nor {}", path, first, second),
                formats);
  };
  const fs::path vocabulary = either("vocab.json", "encoder.json"),
                 merges = either("merges.txt", "vocab.bpe");
  return parseVocabulary(readBounded(vocabulary), readBounded(merges),
                         vocabulary.string(), merges.string());
}

std::string vocabularyText(const Vocabulary &vocabulary) {
  std::string text;
  for (size_t i = 0; i < vocabulary.tokens.size(); ++i)
    if (!vocabulary.tokens[i].empty())
      text += fmt::format(
          "{}\n{}: {}", text.empty() ? "" : ",",
          nlohmann::json(lettersOf(vocabulary.tokens[i])).dump(), i);
  return "{" + text + "\n}\n";
}

std::string mergesText(const Vocabulary &vocabulary) {
  std::string text = "#version: 0.2\n";
  for (const Merge &m : orderedMerges(vocabulary))
    text += lettersOf(vocabulary.tokens[m.left]) + " " +
            lettersOf(vocabulary.tokens[m.right]) + "\n";
  return text;
}

} // namespace tessera::trainer
