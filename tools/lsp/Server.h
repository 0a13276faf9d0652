// tools/lsp/Server.h - a language server for kernel files.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Implements Language Server Protocol 3.17: diagnostics, hover, definition and
// completion. Clients send complete texts.
#pragma once

#include "support/Json.h"
#include "tools/lsp/Analysis.h"
#include "tools/lsp/BuiltinDocs.h"
#include "tools/lsp/Text.h"

#include <functional>
#include <map>
#include <set>
#include <string>

namespace tessera::tools::lsp {

// The functions of tessera that the server calls.
struct Backend {
  Compile compile;
  // Returns the layouts of a line's tiles of that shape, as Markdown; empty:
  // none. Null if layouts are not shown.
  std::function<std::string(const std::string &path, uint32_t line,
                            const std::vector<int64_t> &shape,
                            const AnalysisOptions &options)>
      layouts;
};

class Server {
public:
  using Send = std::function<void(const Json &message)>;
  Server(Backend backend, AnalysisOptions options, Send send);

  // Handles a message of the client. Reports errors in the response or in the
  // client's log; never throws.
  void handle(const std::string &body);

  // True if changed texts have not been analyzed yet.
  bool hasPending() const { return !pending.empty(); }
  // Analyzes one of them and publishes its diagnostics.
  void analyzeNext();

  // Exit status after `exit`: 0 if `shutdown` came before, else 1.
  bool ended() const { return exited; }
  int status() const { return shutDown ? 0 : 1; }

private:
  struct Document {
    std::string text;
    bool saved = true; // analyze all instances
    // The latest analysis that found types.
    Analysis analysis;
    std::set<std::string> published; // paths with findings
  };

  Json request(const std::string &method, const Json &params);
  void notification(const std::string &method, const Json &params);
  Json initialize(const Json &params);
  Json hover(const Json &params);
  Json definition(const Json &params);
  Json completion(const Json &params);
  void open(const std::string &path, std::string text, bool saved);
  void close(const std::string &path);

  void publish(Document &document, const std::string &path,
               const std::vector<Finding> &findings);
  void publishFile(const std::string &path, Json diagnostics);
  void log(const std::string &text);

  // The document and the position that a request names.
  struct Place {
    std::string path;
    Document *document = nullptr;
    uint32_t line = 0, column = 0;
    SourceFile file;
  };
  Place placeOf(const Json &params);
  std::string textOf(const std::string &path) const;
  std::string describe(const KnownValue &value, const SourceFile &file) const;
  const BuiltinDoc *builtin(const std::string &name) const;

  const Backend backend;
  AnalysisOptions options;
  const Send send;
  const std::vector<BuiltinDoc> builtins;
  std::map<std::string, Document> documents; // by path
  std::set<std::string> pending;
  bool initialized = false, shutDown = false, exited = false;
};

} // namespace tessera::tools::lsp
