// trainer/data/Prepare.cpp - tokenizes documents, writes shards and
// vocabularies, and verifies files.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/Prepare.h"

#include "support/Error.h"
#include "support/File.h"
#include "trainer/data/Corpus.h"
#include "trainer/data/DocumentIndex.h"
#include "trainer/data/Parquet.h"
#include "trainer/data/ShardWriter.h"
#include "trainer/data/TextFiles.h"
#include "trainer/loop/Random.h"
#include "trainer/tokenizer/Tokenizer.h"
#include "trainer/tokenizer/VocabularyTrainer.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <memory>

namespace fs = std::filesystem;

namespace tessera::trainer {
namespace {

constexpr int64_t piece = 1 << 20;
/// Maximum length of text without a position where it can be cut for the
/// tokenizer.
constexpr size_t longestRun = size_t(1) << 30;

/// Tokenizes documents and appends each to the training or the held-out shards,
/// which a hash of the document's number selects.
class Splitter : public DocumentSink {
public:
  Splitter(const PrepareOptions &options)
      : share(options.heldOut), tokenizer(tokenizerOf(options)),
        training(options.out, "train", options.shardTokens, kindOf(tokenizer)),
        heldOut(options.out, "val", options.shardTokens, kindOf(tokenizer)) {}

  void begin() override {
    flush();
    constexpr uint64_t seed = 1337;
    current = randomUnit(seed, number++) < share ? &heldOut : &training;
    current->beginDocument();
  }

  void append(std::string_view text) override {
    if (!tokenizer)
      return current->append(text);
    rest += text;
    if (rest.size() < size_t(piece))
      return;
    encode(WordSplitter::safeCut(rest));
    if (rest.size() > longestRun)
      throw Error(fmt::format("document {} has {} bytes without a blank",
                              number, rest.size()),
                  "is this text? leave the file away, or use bytes: without "
                  "--tokenizer");
  }

  Prepared finish() {
    flush();
    training.finish();
    heldOut.finish();
    Prepared result;
    result.files = training.files();
    result.files.insert(result.files.end(), heldOut.files().begin(),
                        heldOut.files().end());
    result.documents = training.documents() + heldOut.documents();
    result.heldOutDocuments = heldOut.documents();
    result.tokens = training.tokens() + heldOut.tokens();
    return result;
  }

private:
  static std::unique_ptr<Tokenizer> tokenizerOf(const PrepareOptions &options) {
    if (options.tokenizer.empty())
      return nullptr;
    auto made = std::make_unique<Tokenizer>(readVocabulary(options.tokenizer));
    if (made->endToken() < 0)
      throw Error(
          fmt::format("{} has no token {}", options.tokenizer, endOfText),
          "it begins each document: add it to the vocabulary");
    return made;
  }
  static TokenKind kindOf(const std::unique_ptr<Tokenizer> &tokenizer) {
    if (!tokenizer)
      return {};
    return {tokenizer->name(), tokenizer->size(), tokenizer->endToken()};
  }

  /// Encodes and removes the first `size` bytes of `rest`.
  void encode(size_t size) {
    tokens.clear();
    tokenizer->encode(std::string_view(rest).substr(0, size), tokens);
    current->append(tokens, int64_t(size));
    rest.erase(0, size);
  }
  void flush() {
    if (!rest.empty())
      encode(rest.size());
  }

  const double share;
  std::unique_ptr<Tokenizer> tokenizer;
  ShardWriter training, heldOut;
  ShardWriter *current = nullptr;
  uint64_t number = 0;
  std::string rest;
  std::vector<uint32_t> tokens;
};

void requireEmptyFolder(const std::string &path) {
  std::error_code code;
  fs::create_directories(path, code);
  if (code)
    throw Error(
        fmt::format("cannot make the folder {}: {}", path, code.message()),
        "choose another with --out");
  if (!fs::is_empty(path, code))
    throw Error(fmt::format("the folder {} holds files already", path),
                "name a new one with --out; nothing has been changed");
}

TokenLayout layoutOf(const RandomFile &file) {
  return readLayout(file.read(0, std::min(file.size(), shardHeaderBytes)),
                    file.size(), file.path());
}

} // namespace

Prepared prepareData(const PrepareOptions &options) {
  const std::vector<std::string> files = filesBelow(options.input);
  requireEmptyFolder(options.out);
  Splitter out(options);
  readDocuments(files, options.field, out);
  const Prepared result = out.finish();
  if (result.documents == 0)
    throw Error(fmt::format("no documents in {}", options.input),
                "name text, .jsonl or .parquet files, or a folder of them");
  return result;
}

/// Trains on the documents of options.input, and makes the folder before.
static Vocabulary trainVocabulary(const TokenizerOptions &options) {
  struct Counter : DocumentSink {
    VocabularyTrainer words;
    std::string rest;
    void begin() override { flush(); }
    void append(std::string_view text) override {
      rest += text;
      if (rest.size() < size_t(piece))
        return;
      const size_t cut = WordSplitter::safeCut(rest);
      words.add(std::string_view(rest).substr(0, cut));
      rest.erase(0, cut);
    }
    void flush() {
      words.add(rest);
      rest.clear();
    }
  } counter;
  const std::vector<std::string> files = filesBelow(options.input);
  requireEmptyFolder(options.out);
  readDocuments(files, options.field, counter);
  counter.flush();
  if (counter.words.differentWords() == 0)
    throw Error(fmt::format("no text in {}", options.input),
                "name text, .jsonl or .parquet files, or a folder of them");
  return counter.words.train(options.size);
}

std::vector<std::string> makeTokenizer(const TokenizerOptions &options) {
  if (options.input.empty() == options.ranks.empty())
    throw Error(options.input.empty() ? "neither text nor ranks are given"
                                      : "both text and --ranks are given",
                "name text to train on, or a file of tiktoken's ranks with "
                "--ranks FILE");
  Vocabulary made;
  if (options.ranks.empty()) {
    made = trainVocabulary(options);
  } else {
    made = readVocabulary(options.ranks);
    requireEmptyFolder(options.out);
  }
  const std::vector<std::string> written = {
      (fs::path(options.out) / "vocab.json").string(),
      (fs::path(options.out) / "merges.txt").string()};
  const std::string merges = mergesText(made);
  writeFile(written[0], vocabularyText(made));
  writeFile(written[1], merges);
  return written;
}

std::string inspectData(const std::string &name) {
  if (name.ends_with(".parquet"))
    return inspectParquet(name);
  const RandomFile file(name);
  const TokenLayout l = layoutOf(file);
  std::string text = fmt::format(
      "{}\n  format      {}\n  tokens      {} of {} byte{}\n  tokenizer   {}, "
      "vocabulary {}\n",
      name, formatName(l.format), l.tokens, l.width, l.width == 1 ? "" : "s",
      l.tokenizer, l.vocabulary);
  if (l.endToken >= 0)
    text +=
        fmt::format("  end         token {} before a document\n", l.endToken);
  if (l.documents > 0)
    text += fmt::format("  documents   {}\n", l.documents);
  if (l.textBytes > 0)
    text += fmt::format("  text        {} bytes\n", l.textBytes);
  if (!l.sha256.empty())
    text += fmt::format("  sha256      {} (not checked)\n", l.sha256);
  return text;
}

std::string verifyData(const std::string &name, const std::string &field) {
  if (name.ends_with(".parquet")) {
    struct Counter : DocumentSink {
      int64_t documents = 0, bytes = 0;
      void begin() override { ++documents; }
      void append(std::string_view text) override {
        bytes += int64_t(text.size());
      }
    } counter;
    const int64_t rows = readParquet(name, field, counter);
    return fmt::format("{}: {} rows, {} documents of {} bytes", name, rows,
                       counter.documents, counter.bytes);
  }
  const auto file = std::make_shared<const RandomFile>(name);
  const TokenLayout layout = layoutOf(*file);
  TokenStore row;
  row.add(file, layout);
  std::vector<int64_t> tokens(size_t(std::min(piece, layout.tokens)));
  Sha256 sum;
  for (int64_t at = 0; at < layout.tokens; at += piece) {
    const int64_t count = std::min(piece, layout.tokens - at);
    row.read(at, count, tokens.data());
    sum.update(
        file->read(layout.offset + at * layout.width, count * layout.width));
  }
  readDocumentIndex(*file, layout);
  sum.update(file->read(layout.offset + layout.tokens * layout.width,
                        layout.documents * 8));
  if (layout.sha256.empty())
    return fmt::format("{}: {} tokens below {}; it has no checksum", name,
                       layout.tokens, layout.vocabulary);
  if (const std::string found = toHex(sum.finish()); found != layout.sha256)
    throw Error(fmt::format("{}: its checksum is {}, its header says {}", name,
                            found, layout.sha256),
                "the file is damaged; make it again");
  return fmt::format("{}: {} tokens, {} documents, checksum good", name,
                     layout.tokens, layout.documents);
}

} // namespace tessera::trainer
