// tools/lsp/Server.cpp - a language server for kernel files: requests,
// notifications, diagnostics.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/lsp/Server.h"

#include "support/Error.h"
#include "support/File.h"

#include <filesystem>
#include <utility>

namespace tessera::tools::lsp {

namespace {
// Error codes of JSON-RPC 2.0 and of the protocol.
enum Code : int {
  ParseError = -32700,
  InvalidRequest = -32600,
  MethodNotFound = -32601,
  InvalidParams = -32602,
  ServerNotInitialized = -32002,
};

struct Refusal {
  Code code;
  std::string message;
};

Json response(const Json &id, Json result) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}};
}

Json failure(const Json &id, Code code, const std::string &message) {
  return {{"jsonrpc", "2.0"},
          {"id", id},
          {"error", {{"code", int(code)}, {"message", message}}}};
}

Json notificationOf(const char *method, Json params) {
  return {
      {"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}};
}

// Returns the path of the document. Throws Error for a URI that does not name a
// file.
std::string pathIn(const Json &params) {
  const Json document = member<Json>(params, "textDocument", "the parameters");
  const auto uri = member<std::string>(document, "uri", "textDocument");
  const std::string path = pathOfUri(uri);
  if (path.empty())
    throw Error("`" + uri + "` is not a file", "open a file:// URI");
  return std::filesystem::path(path).lexically_normal().generic_string();
}
} // namespace

Server::Server(Backend backend, AnalysisOptions options, Send send)
    : backend(std::move(backend)), options(std::move(options)),
      send(std::move(send)), builtins(readBuiltins(builtinsPage())) {}

void Server::handle(const std::string &body) {
  Json message;
  try {
    message = parseJson(body, "the message");
  } catch (const Error &error) {
    return send(failure(nullptr, ParseError, error.what()));
  }
  const bool valid = message.is_object() && message.contains("method") &&
                     message["method"].is_string();
  const Json id = message.is_object() ? message.value("id", Json()) : Json();
  if (!valid) {
    // A message with `result` answers a request of the server. The server sends
    // no requests, so it ignores such messages.
    if (!message.is_object() || !message.contains("result"))
      send(failure(id, InvalidRequest, "a message without `method`"));
    return;
  }
  const std::string method = message["method"];
  const Json params = message.value("params", Json::object());
  const bool asks = message.contains("id");
  try {
    if (asks)
      send(response(id, request(method, params)));
    else
      notification(method, params);
  } catch (const Refusal &refusal) {
    send(failure(id, refusal.code, refusal.message));
  } catch (const Error &error) {
    if (asks)
      send(failure(id, InvalidParams, error.what()));
    else
      log(method + ": " + error.what());
  }
}

Json Server::request(const std::string &method, const Json &params) {
  if (method == "initialize")
    return initialize(params);
  if (!initialized)
    throw Refusal{ServerNotInitialized, "`initialize` comes first"};
  if (shutDown)
    throw Refusal{InvalidRequest, "the server was shut down"};
  if (method == "shutdown") {
    shutDown = true;
    return nullptr;
  }
  if (method == "textDocument/hover")
    return hover(params);
  if (method == "textDocument/definition")
    return definition(params);
  if (method == "textDocument/completion")
    return completion(params);
  throw Refusal{MethodNotFound, "no method `" + method + "`"};
}

Json Server::initialize(const Json &params) {
  if (initialized)
    throw Refusal{InvalidRequest, "`initialize` came before"};
  if (const Json given = params.is_object()
                             ? params.value("initializationOptions", Json())
                             : Json();
      given.is_object()) {
    options.target =
        memberOr(given, "target", options.target, "initializationOptions");
    options.instance =
        memberOr(given, "instance", options.instance, "initializationOptions");
  }
  initialized = true;
  return {{"serverInfo", {{"name", "tessera"}}},
          {"capabilities",
           {{"textDocumentSync",
             {{"openClose", true}, {"change", 1}, {"save", Json::object()}}},
            {"hoverProvider", true},
            {"definitionProvider", true},
            {"completionProvider", {{"triggerCharacters", {"."}}}}}}};
}

void Server::notification(const std::string &method, const Json &params) {
  if (method == "exit") {
    exited = true;
    return;
  }
  if (!initialized || shutDown)
    return;
  const auto document = [&] {
    return member<Json>(params, "textDocument", method);
  };
  if (method == "textDocument/didOpen") {
    open(pathIn(params), member<std::string>(document(), "text", method), true);
  } else if (method == "textDocument/didChange") {
    const Json changes = member<Json>(params, "contentChanges", method);
    if (!changes.is_array() || changes.empty())
      return;
    if (changes.back().contains("range"))
      throw Error("a change of a part of the text",
                  "the server asks for whole texts (textDocumentSync 1)");
    open(pathIn(params), member<std::string>(changes.back(), "text", method),
         false);
  } else if (method == "textDocument/didSave") {
    const auto found = documents.find(pathIn(params));
    if (found == documents.end())
      return;
    found->second.saved = true;
    pending.insert(found->first);
  } else if (method == "textDocument/didClose") {
    close(pathIn(params));
  }
  // Ignores other notifications, such as $/cancelRequest and $/setTrace, as the
  // protocol permits.
}

void Server::open(const std::string &path, std::string text, bool saved) {
  Document &document = documents[path];
  document.text = std::move(text);
  document.saved = saved;
  // Other open files may import this file, so they are analyzed again.
  for (const auto &[other, ignored] : documents)
    pending.insert(other);
}

void Server::close(const std::string &path) {
  const auto found = documents.find(path);
  if (found == documents.end())
    return;
  for (const std::string &published : found->second.published)
    publishFile(published, Json::array());
  pending.erase(path);
  documents.erase(found);
}

void Server::analyzeNext() {
  if (pending.empty())
    return;
  const std::string path = *pending.begin();
  pending.erase(pending.begin());
  Document &document = documents.at(path);
  AnalysisOptions wanted = options;
  wanted.allInstances = document.saved;
  const language::FileReader reader =
      [this](const std::string &file) -> std::optional<std::string> {
    const auto found = documents.find(file);
    return found == documents.end() ? tryReadFile(file) : found->second.text;
  };
  Analysis analysis =
      analyze(path, document.text, wanted, reader, backend.compile);
  publish(document, path, analysis.findings);
  // Keeps the previous types while the text has errors.
  if (!analysis.values.empty())
    document.analysis = std::move(analysis);
}

void Server::publish(Document &document, const std::string &path,
                     const std::vector<Finding> &findings) {
  std::map<std::string, Json> byFile = {{path, Json::array()}};
  for (const std::string &before : document.published)
    byFile.emplace(before, Json::array());
  std::map<std::string, SourceFile> files;
  const auto add = [&](const std::string &file, const SourceRange &range,
                       const Finding &finding, const std::string &message) {
    const auto found = files.try_emplace(file, file, textOf(file)).first;
    Json one = {{"range", rangeJson(found->second, range)},
                {"severity", int(finding.severity)},
                {"source", "tessera"},
                {"message", message}};
    if (!finding.id.empty())
      one["code"] = finding.id;
    byFile.try_emplace(file, Json::array()).first->second.push_back(one);
  };
  for (const Finding &finding : findings) {
    if (finding.path != path)
      add(path, {1, 1, 1, 1}, finding,
          finding.path + ":" + std::to_string(finding.range.line) + ": " +
              finding.message);
    // A finding in another open file is published by the analysis of that file.
    if (finding.path == path || !documents.contains(finding.path))
      add(finding.path, finding.range, finding, finding.message);
  }
  document.published.clear();
  for (auto &[file, diagnostics] : byFile) {
    if (!diagnostics.empty())
      document.published.insert(file);
    publishFile(file, std::move(diagnostics));
  }
}

void Server::publishFile(const std::string &path, Json diagnostics) {
  send(notificationOf(
      "textDocument/publishDiagnostics",
      {{"uri", uriOfPath(path)}, {"diagnostics", std::move(diagnostics)}}));
}

void Server::log(const std::string &text) {
  send(notificationOf("window/logMessage", {{"type", 1}, {"message", text}}));
}

std::string Server::textOf(const std::string &path) const {
  const auto found = documents.find(path);
  return found == documents.end() ? tryReadFile(path).value_or("")
                                  : found->second.text;
}

Server::Place Server::placeOf(const Json &params) {
  const std::string path = pathIn(params);
  const auto found = documents.find(path);
  if (found == documents.end())
    throw Error("`" + path + "` is not open", "textDocument/didOpen it first");
  SourceFile file(path, found->second.text);
  const Position position =
      readPosition(member<Json>(params, "position", "the parameters"));
  const uint32_t line = position.line + 1;
  const uint32_t column = columnOf(file.line(line), position.character);
  return {path, &found->second, line, column, std::move(file)};
}

} // namespace tessera::tools::lsp
