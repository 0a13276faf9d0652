// tools/commands/Cache.cpp - tessera cache ls|clear.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/Command.h"

#include "runtime/cache/Cache.h"
#include "support/Error.h"

#include <CLI/CLI.hpp>

#include <cinttypes>
#include <cstdio>
#include <memory>

namespace tessera::tools {

static runtime::Cache openCache(const std::string &folder) {
  return runtime::Cache(folder.empty() ? runtime::defaultCacheFolder()
                                       : std::filesystem::path(folder));
}

static int list(const std::string &folder) {
  auto cache = openCache(folder);
  uint64_t bytes = 0;
  const auto entries = cache.list();
  for (const runtime::CacheEntry &entry : entries) {
    bytes += entry.bytes;
    std::printf("%-28s %-26s %9" PRIu64 "  %.16s\n",
                entry.bad ? "(bad entry)" : entry.kernel.c_str(),
                entry.target.c_str(), entry.bytes, entry.name.c_str());
  }
  std::printf("%zu kernels, %" PRIu64 " bytes in %s\n", entries.size(), bytes,
              cache.folder().c_str());
  return 0;
}

static int clear(const std::string &folder) {
  auto cache = openCache(folder);
  const size_t removed = cache.clear();
  std::printf("%zu kernels removed from %s\n", removed, cache.folder().c_str());
  return 0;
}

Command addCache(CLI::App &app) {
  auto folder = std::make_shared<std::string>();
  CLI::App *verb = app.add_subcommand("cache", "Look at the compiled kernels");
  verb->require_subcommand(1);
  verb->footer("The folder is $TESSERA_CACHE_DIR, else "
               "$XDG_CACHE_HOME/tessera, else ~/.cache/tessera.\n"
               "Clearing it is always safe: kernels are compiled again.");
  CLI::App *ls = verb->add_subcommand("ls", "List them with their sizes");
  CLI::App *clearVerb = verb->add_subcommand("clear", "Remove them all");
  for (CLI::App *sub : {ls, clearVerb})
    sub->add_option("--dir", *folder, "another cache folder");
  return {verb, [folder, ls] {
            return ls->parsed() ? list(*folder) : clear(*folder);
          }};
}

} // namespace tessera::tools
