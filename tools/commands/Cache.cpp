// tools/commands/Cache.cpp - tessera cache ls|stats|verify|prune|clear.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/Command.h"

#include "runtime/cache/Cache.h"
#include "support/BuildId.h"
#include "support/Error.h"
#include "support/Json.h"
#include "support/Quantities.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <memory>

namespace tessera::tools {

using runtime::Cache;
using runtime::CacheEntry;

namespace {
struct CacheOptions {
  std::string folder;
  bool json = false;
  std::string maxSize, olderThan; // prune
  bool stale = false, dryRun = false;
};
} // namespace

static Cache openCache(const CacheOptions &options) {
  return Cache(options.folder.empty() ? runtime::defaultCacheFolder()
                                      : std::filesystem::path(options.folder),
               runtime::defaultCacheLimit());
}

// File names come from the disk and may contain any bytes.
static void printJson(const Json &json) {
  std::printf("%s\n",
              json.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
}

static uint64_t bytesOf(const std::vector<CacheEntry> &entries) {
  uint64_t bytes = 0;
  for (const CacheEntry &entry : entries)
    bytes += entry.bytes;
  return bytes;
}

static Json toJson(const CacheEntry &entry) {
  Json json = {{"name", entry.name},
               {"bytes", entry.bytes},
               {"age_seconds", entry.age.count()}};
  if (entry.bad) {
    json["bad"] = entry.reason;
    return json;
  }
  json["kernel"] = entry.kernel;
  json["target"] = entry.target;
  json["configuration"] = entry.configuration;
  json["stale"] = entry.build != compilerBuildId();
  return json;
}

static Json toJson(const std::vector<CacheEntry> &entries) {
  Json list = Json::array();
  for (const CacheEntry &entry : entries)
    list.push_back(toJson(entry));
  return list;
}

static std::string nameOf(const CacheEntry &entry) {
  return entry.bad ? "(bad entry: " + entry.reason + ")" : entry.kernel;
}

static void print(const CacheEntry &entry) {
  std::printf("%-28s %-26s %9" PRIu64 "  %.16s\n", nameOf(entry).c_str(),
              entry.target.c_str(), entry.bytes, entry.name.c_str());
}

static int list(const CacheOptions &options) {
  auto cache = openCache(options);
  const auto entries = cache.list();
  if (options.json) {
    printJson({{"folder", cache.folder().string()},
               {"bytes", bytesOf(entries)},
               {"entries", toJson(entries)}});
    return 0;
  }
  for (const CacheEntry &entry : entries)
    print(entry);
  std::printf("%zu kernels, %" PRIu64 " bytes in %s\n", entries.size(),
              bytesOf(entries), cache.folder().c_str());
  return 0;
}

static int stats(const CacheOptions &options) {
  struct Total {
    uint64_t entries = 0, bytes = 0;
  };
  auto cache = openCache(options);
  const auto entries = cache.list();
  const auto leftovers = cache.leftovers();
  std::map<std::string, Total> kernels;
  Total stale, bad;
  std::chrono::seconds oldest{0};
  auto add = [](Total &total, const CacheEntry &entry) {
    ++total.entries;
    total.bytes += entry.bytes;
  };
  for (const CacheEntry &entry : entries) {
    oldest = std::max(oldest, entry.age);
    if (entry.bad) {
      add(bad, entry);
      continue;
    }
    add(kernels[entry.kernel], entry);
    if (entry.build != compilerBuildId())
      add(stale, entry);
  }
  if (options.json) {
    Json perKernel = Json::object();
    for (const auto &[kernel, total] : kernels)
      perKernel[kernel] = {{"entries", total.entries}, {"bytes", total.bytes}};
    printJson({{"folder", cache.folder().string()},
               {"entries", entries.size()},
               {"bytes", bytesOf(entries)},
               {"limit_bytes", cache.limit()},
               {"oldest_use_seconds", oldest.count()},
               {"stale", {{"entries", stale.entries}, {"bytes", stale.bytes}}},
               {"bad", {{"entries", bad.entries}, {"bytes", bad.bytes}}},
               {"quarantined",
                {{"entries", leftovers.quarantined},
                 {"bytes", leftovers.quarantinedBytes}}},
               {"temporaries",
                {{"entries", leftovers.temporaries},
                 {"bytes", leftovers.temporaryBytes}}},
               {"locks", leftovers.locks},
               {"kernels", perKernel}});
    return 0;
  }
  std::printf("folder       %s\n", cache.folder().c_str());
  auto line = [](const char *name, uint64_t count, uint64_t bytes,
                 const std::string &note = "") {
    std::printf("%-12s %6" PRIu64 "  %12s%s\n", name, count,
                bytesText(bytes).c_str(), note.c_str());
  };
  line("kernels", entries.size(), bytesOf(entries),
       cache.limit() ? "  of " + bytesText(cache.limit()) : "  no limit");
  line("stale", stale.entries, stale.bytes,
       stale.entries ? "  of other compilers: tessera cache prune" : "");
  line("bad", bad.entries, bad.bytes,
       bad.entries ? "  tessera cache verify moves them away" : "");
  line("quarantined", leftovers.quarantined, leftovers.quarantinedBytes);
  line("temporaries", leftovers.temporaries, leftovers.temporaryBytes);
  if (!entries.empty())
    std::printf("oldest use   %s ago\n", timeSpanText(oldest).c_str());
  if (!kernels.empty())
    std::printf("by kernel\n");
  for (const auto &[kernel, total] : kernels)
    std::printf("  %-28s %6" PRIu64 "  %12s\n", kernel.c_str(), total.entries,
                bytesText(total.bytes).c_str());
  return 0;
}

static int verify(const CacheOptions &options) {
  auto cache = openCache(options);
  const size_t checked = cache.list().size();
  const auto bad = cache.verify();
  if (options.json)
    printJson({{"folder", cache.folder().string()},
               {"checked", checked},
               {"quarantined", toJson(bad)}});
  else {
    for (const CacheEntry &entry : bad)
      print(entry);
    std::printf("%zu kernels checked, %zu bad%s, in %s\n", checked, bad.size(),
                bad.empty() ? "" : " and moved to quarantine",
                cache.folder().c_str());
  }
  return bad.empty() ? 0 : 1;
}

static int prune(const CacheOptions &options) {
  auto cache = openCache(options);
  runtime::PruneOptions wanted;
  wanted.dryRun = options.dryRun;
  if (!options.maxSize.empty())
    wanted.maxBytes = parseBytes(options.maxSize, "--max-size");
  if (!options.olderThan.empty())
    wanted.olderThan = parseTimeSpan(options.olderThan, "--older-than");
  // Without options: removes artifacts of other compiler builds, and enforces
  // the size limit.
  const bool choice = wanted.maxBytes || wanted.olderThan || options.stale;
  if (options.stale || !choice)
    wanted.onlyBuild = compilerBuildId();
  if (!choice && cache.limit())
    wanted.maxBytes = cache.limit();
  const auto result = cache.prune(wanted);
  if (options.json) {
    printJson({{"folder", cache.folder().string()},
               {"dry_run", options.dryRun},
               {"removed", toJson(result.removed)},
               {"removed_bytes", bytesOf(result.removed)},
               {"leftovers", result.leftovers},
               {"kept", result.kept},
               {"kept_bytes", result.keptBytes}});
    return 0;
  }
  if (options.dryRun)
    for (const CacheEntry &entry : result.removed)
      print(entry);
  std::printf(
      "%zu kernels (%s) and %" PRIu64 " leftover files %s %s; "
      "%" PRIu64 " kernels (%s) %s\n",
      result.removed.size(), bytesText(bytesOf(result.removed)).c_str(),
      result.leftovers, options.dryRun ? "would go from" : "removed from",
      cache.folder().c_str(), result.kept, bytesText(result.keptBytes).c_str(),
      options.dryRun ? "would stay" : "stay");
  return 0;
}

static int clear(const CacheOptions &options) {
  auto cache = openCache(options);
  const size_t removed = cache.clear();
  if (options.json)
    printJson({{"folder", cache.folder().string()}, {"removed", removed}});
  else
    std::printf("%zu kernels removed from %s\n", removed,
                cache.folder().c_str());
  return 0;
}

Command addCache(CLI::App &app) {
  auto options = std::make_shared<CacheOptions>();
  CLI::App *verb = app.add_subcommand("cache", "Look at the compiled kernels");
  verb->require_subcommand(1);
  verb->footer(
      "The folder is $TESSERA_CACHE_DIR, else $XDG_CACHE_HOME/tessera, else "
      "~/.cache/tessera.\nIt holds at most TESSERA_CACHE_SIZE; the least "
      "recently used kernels go first.\nAll of this is safe at any time: what "
      "is missing is compiled again.\n\nExamples:\n"
      "  tessera cache stats\n"
      "  tessera cache verify --json\n"
      "  tessera cache prune                       what other compilers made\n"
      "  tessera cache prune --older-than 30d --max-size 1G --dry-run");
  struct Sub {
    const char *name, *help;
    int (*run)(const CacheOptions &);
  };
  static constexpr Sub subs[] = {
      {"ls", "List them with their sizes", list},
      {"stats", "Count them: sizes, kernels, stale and bad ones", stats},
      {"verify", "Check every one; bad ones go to quarantine (exit 1)", verify},
      {"prune", "Remove the stale, old, or least recently used", prune},
      {"clear", "Remove them all", clear}};
  std::vector<std::pair<CLI::App *, const Sub *>> made;
  for (const Sub &sub : subs) {
    CLI::App *app = verb->add_subcommand(sub.name, sub.help);
    app->add_option("--dir", options->folder, "another cache folder");
    app->add_flag("--json", options->json, "as JSON");
    made.emplace_back(app, &sub);
    if (sub.run != prune)
      continue;
    app->add_option("--max-size", options->maxSize,
                    "keep at most this much (500M, 4G)");
    app->add_option("--older-than", options->olderThan,
                    "remove what was not used for this long (12h, 30d)");
    app->add_flag("--stale", options->stale,
                  "remove what other builds of the compiler made; the default, "
                  "with the size limit, where nothing else is asked for");
    app->add_flag("--dry-run", options->dryRun, "only say what would go");
    app->footer("Leftovers (quarantine, temporaries, unused locks) go too.");
  }
  return {verb, [options, made] {
            for (auto [app, sub] : made)
              if (app->parsed())
                return sub->run(*options);
            return 2;
          }};
}

} // namespace tessera::tools
