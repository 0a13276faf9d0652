// tools/commands/Lsp.cpp - tessera lsp: a language server over stdio.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/Command.h"

#include "runtime/compile/CompileService.h"
#include "support/Error.h"
#include "support/GpuTarget.h"
#include "support/Process.h"
#include "tools/lsp/Channel.h"
#include "tools/lsp/Layouts.h"
#include "tools/lsp/Server.h"

#include <CLI/CLI.hpp>

#include <chrono>
#include <csignal>
#include <memory>
#include <unistd.h>

namespace tessera::tools {

// Parses in a worker and caches nothing.
static language::CompileResult
compileNow(const language::CompileRequest &request) {
  constexpr std::chrono::seconds most(20);
  const runtime::WorkerOutcome outcome =
      runtime::CompileService::instance().workers().run(
          request.toJson(), most, [](const std::string &) {});
  if (!outcome.failure.empty())
    throw Error("the compiler " + outcome.failure + " while it read `" +
                    request.kernel + "`",
                "tessera compile " + request.file + " says more");
  return language::CompileResult::fromJson(outcome.reply);
}

static int serve(const lsp::AnalysisOptions &options) {
  // Minimum time without typing before the file is analyzed.
  constexpr std::chrono::milliseconds pause(150);
  if (!options.target.empty())
    GpuTarget::parse(options.target); // throws
  ::signal(SIGPIPE, SIG_IGN);         // an editor that is gone ends the input
  lsp::Channel channel(STDIN_FILENO, STDOUT_FILENO);
  lsp::Layouts layouts;
  lsp::Backend backend;
  backend.compile = compileNow;
  backend.layouts = [&](const std::string &path, uint32_t line,
                        const std::vector<int64_t> &shape,
                        const lsp::AnalysisOptions &how) {
    return layouts.of(path, line, shape, how);
  };
  lsp::Server server(std::move(backend), options, [&](const Json &message) {
    channel.write(message.dump(-1, ' ', false, Json::error_handler_t::replace));
  });
  while (!server.ended()) {
    while (server.hasPending() && !channel.ready(pause))
      server.analyzeNext();
    const auto message = channel.read();
    if (!message)
      return 1; // without `exit`
    server.handle(*message);
  }
  return server.status();
}

Command addLsp(CLI::App &app) {
  auto options = std::make_shared<lsp::AnalysisOptions>();
  CLI::App *verb = app.add_subcommand(
      "lsp", "Serve an editor: mistakes as you type, types on hover, "
             "definitions, completion (Language Server Protocol on stdio)");
  verb->add_option("--target", options->target,
                   "a GPU, such as sm_80: hover shows layouts, too");
  verb->add_option("-i,--instance", options->instance,
                   "the `# tessera: instance` whose types are shown (the "
                   "first of each kernel)");
  verb->footer("Editors start it; for example in Neovim:\n"
               "  vim.lsp.start({name = 'tessera', cmd = {'tessera', 'lsp', "
               "'--target', 'sm_80'}})\n\n"
               "docs/editors.md has settings for Neovim, Emacs, Helix and "
               "VS Code.");
  return {verb, [options] { return serve(*options); }};
}

} // namespace tessera::tools
