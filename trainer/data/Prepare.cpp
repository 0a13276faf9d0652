// trainer/data/Prepare.cpp - reads documents, writes shards of them.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/Prepare.h"

#include "support/Error.h"
#include "trainer/Random.h"
#include "trainer/data/Corpus.h"
#include "trainer/data/DocumentIndex.h"
#include "trainer/data/ShardWriter.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace fs = std::filesystem;

namespace tessera::trainer {
namespace {

constexpr int64_t piece = 1 << 20;
constexpr size_t longestLine = size_t(1) << 30;

/// Gives each document to one of two writers, by its number.
class Splitter {
public:
  Splitter(const PrepareOptions &options)
      : share(options.heldOut),
        training(options.out, "train", options.shardTokens),
        heldOut(options.out, "val", options.shardTokens) {}

  void begin() {
    constexpr uint64_t seed = 1337;
    current = randomUnit(seed, number++) < share ? &heldOut : &training;
    current->beginDocument();
  }
  void append(std::string_view text) { current->append(text); }

  Prepared finish() {
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
  const double share;
  ShardWriter training, heldOut;
  ShardWriter *current = nullptr;
  uint64_t number = 0;
};

/// Calls visit(line, number) for every line of a file, without its newline.
template <typename F>
void forLines(const RandomFile &file, F visit) {
  std::string rest;
  int64_t number = 0;
  for (int64_t at = 0; at < file.size(); at += piece) {
    const std::string text = file.read(at, std::min(piece, file.size() - at));
    size_t begin = 0;
    for (size_t end; (end = text.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
      rest.append(text, begin, end - begin);
      visit(rest, ++number);
      rest.clear();
    }
    rest.append(text, begin);
    if (rest.size() > longestLine)
      throw Error(fmt::format("{}:{}: a line of more than {} bytes",
                              file.path(), number + 1, longestLine),
                  "JSONL has one document a line; is this another format?");
  }
  if (!rest.empty())
    visit(rest, ++number);
}

void addJsonLines(const RandomFile &file, const std::string &field,
                  Splitter &out) {
  forLines(file, [&](const std::string &line, int64_t number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos)
      return;
    const auto json = nlohmann::json::parse(line, nullptr, false);
    const auto text = json.is_object() ? json.find(field) : json.end();
    if (!json.is_object() || text == json.end() || !text->is_string())
      throw Error(fmt::format("{}:{}: {}", file.path(), number,
                              json.is_discarded()
                                  ? "this line is no JSON"
                                  : fmt::format("no text in '{}'", field)),
                  "every line is an object such as {\"text\": \"...\"}; "
                  "--field names another key");
    const std::string &document = text->get_ref<const std::string &>();
    if (document.empty())
      return;
    out.begin();
    out.append(document);
  });
}

void addText(const RandomFile &file, Splitter &out) {
  if (file.size() == 0)
    return;
  out.begin();
  for (int64_t at = 0; at < file.size(); at += piece)
    out.append(file.read(at, std::min(piece, file.size() - at)));
}

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
  for (const std::string &file : files)
    if (file.ends_with(".parquet"))
      throw Error(fmt::format("{}: parquet is not read yet", file),
                  "write its text column as .jsonl first");
  requireEmptyFolder(options.out);
  Splitter out(options);
  for (const std::string &name : files) {
    const RandomFile file(name);
    if (const TokenLayout layout = layoutOf(file);
        layout.format != TokenFormat::Text)
      throw Error(fmt::format("{} holds tokens already ({})", name,
                              formatName(layout.format)),
                  "train on it with data.path");
    if (name.ends_with(".jsonl"))
      addJsonLines(file, options.field, out);
    else
      addText(file, out);
  }
  const Prepared result = out.finish();
  if (result.documents == 0)
    throw Error(fmt::format("no documents in {}", options.input),
                "name text files, .jsonl files, or a folder of them");
  return result;
}

std::string inspectData(const std::string &name) {
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

std::string verifyData(const std::string &name) {
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
