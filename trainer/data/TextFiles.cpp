// trainer/data/TextFiles.cpp - parses JSONL, reads plain text, and dispatches
// parquet.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/TextFiles.h"

#include "support/Error.h"
#include "trainer/data/Parquet.h"
#include "trainer/data/RandomFile.h"
#include "trainer/data/TextKind.h"
#include "trainer/data/TokenFile.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tessera::trainer {
namespace {

constexpr int64_t pieceBytes = 1 << 20;
constexpr size_t longestLine = size_t(1) << 30;

/// Calls visit(line, number) for every line of a file, without its newline.
template <typename F>
void forLines(const RandomFile &file, F visit) {
  std::string rest;
  int64_t number = 0;
  for (int64_t at = 0; at < file.size(); at += pieceBytes) {
    const std::string text =
        file.read(at, std::min(pieceBytes, file.size() - at));
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

/// Returns the reason from a message of nlohmann, in which it follows ": ".
std::string reasonOf(const std::string &message) {
  const size_t colon = message.find(": ");
  return colon == std::string::npos ? message : message.substr(colon + 2);
}

/// Returns the JSON of a line. Throws tessera::Error with the position and the
/// reason if the line cannot be parsed.
nlohmann::json parsedLine(const std::string &line, const std::string &path,
                          int64_t number) {
  try {
    return nlohmann::json::parse(line);
  } catch (const nlohmann::json::parse_error &e) {
    const std::string reason = e.what();
    const bool surrogate = reason.find("surrogate") != std::string::npos;
    throw Error(
        fmt::format("{}:{}:{}: this line is not JSON: {}", path, number, e.byte,
                    surrogate ? "a \\u escape of half a surrogate pair, which "
                                "no text in UTF-8 can contain"
                              : reasonOf(reason)),
        surrogate ? "write the character in UTF-8 or as a pair of \\u escapes, "
                    "or remove the line"
                  : "every line is an object such as {\"text\": \"...\"}");
  }
}

void addJsonLines(const RandomFile &file, const std::string &field,
                  DocumentSink &out) {
  forLines(file, [&](const std::string &line, int64_t number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos)
      return;
    const nlohmann::json json = parsedLine(line, file.path(), number);
    const auto text = json.is_object() ? json.find(field) : json.end();
    if (!json.is_object() || text == json.end() || !text->is_string())
      throw Error(
          fmt::format("{}:{}: no text in '{}'", file.path(), number, field),
          "every line is an object such as {\"text\": \"...\"}; "
          "--field names another key");
    const std::string &document = text->get_ref<const std::string &>();
    if (document.empty())
      return;
    out.begin();
    out.append(document);
  });
}

void addText(const RandomFile &file, DocumentSink &out) {
  if (file.size() == 0)
    return;
  out.begin();
  for (int64_t at = 0; at < file.size(); at += pieceBytes)
    out.append(file.read(at, std::min(pieceBytes, file.size() - at)));
}

} // namespace

void readDocuments(const std::vector<std::string> &files,
                   const std::string &field, DocumentSink &sink) {
  for (const std::string &name : files) {
    if (name.ends_with(".parquet")) {
      readParquet(name, field, sink);
      continue;
    }
    const RandomFile file(name);
    const std::string head =
        file.read(0, std::min(file.size(), shardHeaderBytes));
    const TokenLayout layout = readLayout(head, file.size(), name);
    if (layout.format != TokenFormat::Text)
      throw Error(fmt::format("{} holds tokens already ({})", name,
                              formatName(layout.format)),
                  "train on it with data.path");
    requireText(head, name);
    if (name.ends_with(".jsonl"))
      addJsonLines(file, field, sink);
    else
      addText(file, sink);
  }
}

} // namespace tessera::trainer
