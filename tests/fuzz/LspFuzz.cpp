// tests/fuzz/LspFuzz.cpp - bytes of an editor, and messages of one, a line
// each.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/File.h"
#include "tests/fuzz/Fuzz.h"
#include "tools/lsp/Channel.h"
#include "tools/lsp/Server.h"

#include <algorithm>
#include <fcntl.h>
#include <unistd.h>

using namespace tessera;
using namespace tessera::tools::lsp;

// A compiler that knows one type, at a position that the text may not have.
static language::CompileResult
compiled(const language::CompileRequest &request) {
  language::CompileResult result;
  result.ok = true;
  result.stages["values"] =
      Json::array({{{"file", request.file},
                    {"range", {1, 1, 1 + request.text.size() % 9, 80}},
                    {"values", {"fp32[16, 64]"}},
                    {"defined",
                     {{"file", request.file}, {"line", 7}, {"column", 90}}}}})
          .dump();
  result.diagnostics = {{"id", "warning", "", "odd", "", 3, 70, 2, 1}};
  return result;
}

static bool isBefore(const Json &a, const Json &b) {
  const auto at = [](const Json &place) {
    return std::pair(place["line"].get<uint32_t>(),
                     place["character"].get<uint32_t>());
  };
  return at(a) <= at(b);
}

static void readFrames(const uint8_t *data, size_t size) {
  size = std::min<size_t>(size, 4096 * 15); // what a pipe holds
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return;
  UniqueFd read(ends[0]), write(ends[1]);
  fuzz::require(!size || ::write(write.get(), data, size) == ssize_t(size),
                "a pipe that takes no bytes");
  write.reset();
  fuzz::expectErrorsOnly([&] {
    Channel channel(read.get(), -1);
    size_t bytes = 0;
    while (const auto message = channel.read())
      bytes += message->size();
    fuzz::require(bytes <= size, "more bytes than there were");
  });
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  readFrames(data, size);
  size_t answers = 0;
  Backend backend;
  backend.compile = compiled;
  backend.layouts =
      [](const std::string &, uint32_t, const std::vector<int64_t> &shape,
         const AnalysisOptions &) { return std::to_string(shape.size()); };
  Server server(backend, {false, "sm_80", ""}, [&](const Json &message) {
    fuzz::require(message.at("jsonrpc") == "2.0", "no message");
    const bool isAnswer = message.contains("id");
    answers += isAnswer;
    fuzz::require(message.contains("method") != isAnswer,
                  "neither answer nor notification");
    if (isAnswer)
      fuzz::require(message.contains("result") != message.contains("error"),
                    "an answer with both or neither");
    else if (message["params"].contains("diagnostics"))
      for (const Json &one : message["params"]["diagnostics"])
        fuzz::require(
            isBefore(one.at("range").at("start"), one["range"].at("end")),
            "a range that ends before it begins");
  });
  std::string_view rest(reinterpret_cast<const char *>(data), size);
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const size_t before = answers;
    server.handle(std::string(rest.substr(0, end)));
    fuzz::require(answers <= before + 1, "two answers");
    while (server.hasPending())
      server.analyzeNext();
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return 0;
}
