// tests/unit/tools/lsp/ServerTest.cpp - the answers of the language server to
// messages, with a compiler whose output a test chooses.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/lsp/Server.h"

#include "support/Error.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::tools::lsp;

namespace {

const char *const kernel = "import triton\n"
                           "import triton.language as tl\n"
                           "\n"
                           "# tessera: instance f32(p=\"*fp32\", N=16)\n"
                           "@triton.jit\n"
                           "def k(p, N: tl.constexpr):\n"
                           "    x = tl.load(p + tl.arange(0, N))\n"
                           "    tl.store(p, x)\n";

class LspServer : public testing::Test {
protected:
  LspServer() { ask("initialize", Json::object()); }

  Json ask(const std::string &method, const Json &params) {
    const size_t before = sent.size();
    server.handle(Json{
        {"jsonrpc", "2.0"},
        {"id", ++id},
        {"method", method},
        {"params",
         params}}.dump());
    EXPECT_EQ(sent.size(), before + 1) << method;
    EXPECT_EQ(sent.back().value("id", Json()), Json(id));
    return sent.back();
  }
  void tell(const std::string &method, const Json &params) {
    server.handle(
        Json{{"jsonrpc", "2.0"}, {"method", method}, {"params", params}}
            .dump());
  }
  void open(const std::string &path, const std::string &text) {
    tell("textDocument/didOpen",
         {{"textDocument", {{"uri", "file://" + path}, {"text", text}}}});
  }
  void change(const std::string &path, const std::string &text) {
    tell("textDocument/didChange",
         {{"textDocument", {{"uri", "file://" + path}}},
          {"contentChanges", Json::array({{{"text", text}}})}});
  }
  void save(const std::string &path) {
    tell("textDocument/didSave",
         {{"textDocument", {{"uri", "file://" + path}}}});
  }
  // The diagnostics by URI after all that is pending was looked at.
  std::map<std::string, Json> settle() {
    const size_t before = sent.size();
    while (server.hasPending())
      server.analyzeNext();
    std::map<std::string, Json> found;
    for (size_t i = before; i < sent.size(); ++i)
      if (sent[i].value("method", "") == "textDocument/publishDiagnostics")
        found[sent[i]["params"]["uri"]] = sent[i]["params"]["diagnostics"];
    return found;
  }
  static Json place(const std::string &path, int line, int character) {
    return {{"textDocument", {{"uri", "file://" + path}}},
            {"position", {{"line", line}, {"character", character}}}};
  }
  std::vector<std::string> labels(const std::string &path, int line,
                                  int character) {
    std::vector<std::string> names;
    const Json answer =
        ask("textDocument/completion", place(path, line, character));
    for (const Json &item : answer["result"])
      names.push_back(item["label"]);
    return names;
  }

  // What the next compilations give, and what was asked for.
  Json values = Json::array();
  std::vector<language::DiagnosticRecord> diagnostics;
  std::vector<language::CompileRequest> requests;
  std::vector<int64_t> layoutShape;

  std::vector<Json> sent;
  int id = 0;
  Backend backend = {[this](const language::CompileRequest &request) {
                       requests.push_back(request);
                       language::CompileResult result;
                       result.ok = diagnostics.empty();
                       result.diagnostics = diagnostics;
                       if (result.ok)
                         result.stages["values"] = values.dump();
                       return result;
                     },
                     [this](const std::string &, uint32_t line,
                            const std::vector<int64_t> &shape,
                            const AnalysisOptions &) {
                       layoutShape = shape;
                       return "layouts of line " + std::to_string(line);
                     }};
  AnalysisOptions options = {false, "sm_80", ""};
  Server server{backend, options,
                [this](const Json &message) { sent.push_back(message); }};
};

Json value(const std::string &file, std::vector<int> range,
           std::vector<std::string> types) {
  return {{"file", file}, {"range", range}, {"values", types}};
}

} // namespace

TEST_F(LspServer, ReportsItsCapabilities) {
  const Json &can = sent[0]["result"]["capabilities"];
  EXPECT_EQ(can["textDocumentSync"]["change"], 1);
  EXPECT_EQ(can["hoverProvider"], true);
  EXPECT_EQ(ask("initialize", Json::object())["error"]["code"], -32600);
}

TEST_F(LspServer, AMistakeIsPublishedWhereItIsAndGoesWhenItIsMended) {
  std::string bad = kernel;
  bad.replace(bad.find("tl.load(p"), 9, "tl.load((p");
  open("/k.py", bad);
  auto found = settle();
  ASSERT_FALSE(found["file:///k.py"].empty());
  EXPECT_EQ(found["file:///k.py"][0]["severity"], 1);
  EXPECT_EQ(found["file:///k.py"][0]["range"]["start"]["line"], 6);
  EXPECT_TRUE(requests.empty());
  change("/k.py", kernel);
  found = settle();
  EXPECT_EQ(found["file:///k.py"], Json::array());
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_TRUE(requests[0].frontEndOnly);
}

TEST_F(LspServer, WhatTheCompilerFindsHasItsHint) {
  diagnostics = {{"type-mismatch", "error", "", "no such type", "write another",
                  7, 9, 7, 16}};
  open("/k.py", kernel);
  const Json found = settle()["file:///k.py"];
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0]["message"], "no such type\nwrite another");
  EXPECT_EQ(found[0]["range"], Json::parse(R"({
      "start": {"line": 6, "character": 8},
      "end": {"line": 6, "character": 15}})"));
}

// A file that is imported and not open has its findings taken back, too.
TEST_F(LspServer, AMistakeInAnImportGoesWhenItIsMended) {
  diagnostics = {{"id", "error", "/h.py", "odd", "", 2, 1, 2, 3}};
  open("/k.py", kernel);
  auto found = settle();
  EXPECT_EQ(found["file:///h.py"].size(), 1u);
  EXPECT_EQ(found["file:///k.py"][0]["message"], "/h.py:2: odd");
  diagnostics.clear();
  change("/k.py", kernel);
  found = settle();
  ASSERT_TRUE(found.contains("file:///h.py"));
  EXPECT_EQ(found["file:///h.py"], Json::array());
}

TEST_F(LspServer, HoverShowsTypesSignaturesAndLayouts) {
  values = {value("/k.py", {7, 5, 7, 6}, {"fp32[16]"}),
            value("/k.py", {7, 9, 7, 37}, {"fp32[16]"}),
            value("/k.py", {7, 9, 7, 16}, {"function tl.load"})};
  open("/k.py", kernel);
  settle();
  Json hover = ask("textDocument/hover", place("/k.py", 6, 4))["result"];
  EXPECT_EQ(hover["contents"]["value"],
            "```python\nx: fp32[16]\n```\n\nlayouts of line 7");
  EXPECT_EQ(layoutShape, std::vector<int64_t>{16});
  // The smallest expression there.
  hover = ask("textDocument/hover", place("/k.py", 6, 12))["result"];
  const std::string text = hover["contents"]["value"];
  EXPECT_TRUE(text.starts_with("```python\nload(pointer")) << text;
  EXPECT_EQ(text.find("layouts"), text.npos);
  EXPECT_EQ(ask("textDocument/hover", place("/k.py", 2, 0))["result"], Json());
}

TEST_F(LspServer, TypesStayWhileATextIsWrong) {
  values = {value("/k.py", {7, 5, 7, 6}, {"fp32[16]"})};
  open("/k.py", kernel);
  settle();
  change("/k.py", std::string(kernel) + "    y = (\n");
  EXPECT_FALSE(settle()["file:///k.py"].empty());
  EXPECT_FALSE(
      ask("textDocument/hover", place("/k.py", 6, 4))["result"].is_null());
}

TEST_F(LspServer, DefinitionOfAHelperInAnotherFile) {
  Json call = value("/k.py", {7, 9, 7, 16}, {"function rows"});
  call["defined"] = {{"file", "/h.py"}, {"line", 2}, {"column", 5}};
  values = {call};
  open("/h.py", "# helpers\ndef rows(p, n):\n    return p\n");
  open("/k.py", kernel);
  settle();
  const Json found = ask("textDocument/definition", place("/k.py", 6, 9));
  EXPECT_EQ(found["result"]["uri"], "file:///h.py");
  EXPECT_EQ(found["result"]["range"], Json::parse(R"({
      "start": {"line": 1, "character": 4},
      "end": {"line": 1, "character": 8}})"));
  const Json hover = ask("textDocument/hover", place("/k.py", 6, 9));
  EXPECT_EQ(hover["result"]["contents"]["value"],
            "```python\ndef rows(p, n):\n```");
}

TEST_F(LspServer, CompletionFollowsADot) {
  open("/k.py", "x = tl.\ny = tl.math.\nz = x.su\nw = 1\nv = triton.\n");
  const auto has = [](const std::vector<std::string> &names,
                      const std::string &name) {
    return std::count(names.begin(), names.end(), name) == 1;
  };
  const auto language = labels("/k.py", 0, 7);
  EXPECT_TRUE(has(language, "load") && has(language, "sum"));
  EXPECT_FALSE(has(language, "shape") || has(language, "triton.cdiv"));
  const auto math = labels("/k.py", 1, 12);
  EXPECT_TRUE(has(math, "exp2") && !has(math, "load"));
  const auto methods = labels("/k.py", 2, 8);
  EXPECT_TRUE(has(methods, "sum") && !has(methods, "load"));
  EXPECT_TRUE(labels("/k.py", 3, 5).empty());
  const auto triton = labels("/k.py", 4, 11);
  EXPECT_TRUE(has(triton, "cdiv") && !has(triton, "load"));
}

// While a person types, the first instance is enough; a saved file is read with
// all of them.
TEST_F(LspServer, ASavedFileIsReadWithAllItsInstances) {
  std::string two = kernel;
  two.insert(two.find("@triton.jit"),
             "# tessera: instance f16(p=\"*fp16\", N=16)\n");
  open("/k.py", two);
  settle();
  EXPECT_EQ(requests.size(), 2u);
  change("/k.py", two + "\n");
  settle();
  EXPECT_EQ(requests.size(), 3u);
  save("/k.py");
  settle();
  EXPECT_EQ(requests.size(), 5u);
}

TEST_F(LspServer, AKernelWithoutInstancesIsToldHowToGetTypes) {
  std::string none = kernel;
  const size_t at = none.find("# tessera");
  none.erase(at, none.find('\n', at) + 1 - at);
  open("/k.py", none);
  const Json found = settle()["file:///k.py"];
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0]["severity"], 4);
  EXPECT_NE(found[0]["message"].get<std::string>().find("# tessera: instance"),
            std::string::npos);
}

TEST_F(LspServer, AClosedFileHasNoFindings) {
  open("/k.py", "x = (\n");
  EXPECT_FALSE(settle()["file:///k.py"].empty());
  tell("textDocument/didClose", {{"textDocument", {{"uri", "file:///k.py"}}}});
  EXPECT_EQ(sent.back()["params"]["diagnostics"], Json::array());
  EXPECT_EQ(ask("textDocument/hover", place("/k.py", 0, 0))["error"]["code"],
            -32602);
}

TEST_F(LspServer, WrongMessagesAreAnswered) {
  const auto code = [&](const std::string &body) {
    server.handle(body);
    return sent.back()["error"]["code"];
  };
  EXPECT_EQ(code("{"), -32700);
  EXPECT_EQ(code("[]"), -32600);
  EXPECT_EQ(code(R"({"id": 1})"), -32600);
  EXPECT_EQ(code(R"({"id": 1, "method": "x"})"), -32601);
  EXPECT_EQ(code(R"({"id": 1, "method": "textDocument/hover"})"), -32602);
  EXPECT_EQ(code(R"({"id": 1, "method": "textDocument/hover", "params": 3})"),
            -32602);
  EXPECT_EQ(ask("textDocument/hover",
                {{"textDocument", {{"uri", "untitled:1"}}}})["error"]["code"],
            -32602);
  // What needs no answer gets none, but a line in the client's log.
  size_t before = sent.size();
  tell("$/setTrace", Json::object());
  EXPECT_EQ(sent.size(), before);
  tell("textDocument/didOpen", Json::object());
  EXPECT_EQ(sent.back()["method"], "window/logMessage");
}

TEST_F(LspServer, ShutsDownThenExits) {
  EXPECT_EQ(server.status(), 1);
  EXPECT_TRUE(ask("shutdown", Json())["result"].is_null());
  EXPECT_EQ(ask("textDocument/hover", Json())["error"]["code"], -32600);
  EXPECT_FALSE(server.ended());
  tell("exit", Json());
  EXPECT_TRUE(server.ended());
  EXPECT_EQ(server.status(), 0);
}

TEST(LspServerAlone, InitializeComesFirst) {
  std::vector<Json> sent;
  Server server({}, {}, [&](const Json &message) { sent.push_back(message); });
  server.handle(R"({"id": 1, "method": "textDocument/hover"})");
  EXPECT_EQ(sent.at(0)["error"]["code"], -32002);
}
