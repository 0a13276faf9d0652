// tools/commands/Tune.cpp - tessera tune: starts a search, or shows, compares
// and merges tables.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/Command.h"

#include "autotune/choice/StaleEntries.h"
#include "autotune/search/TableFile.h"
#include "autotune/search/Times.h"
#include "autotune/table/TuneTable.h"
#include "support/Error.h"
#include "support/File.h"
#include "tools/commands/TuneSearch.h"
#include "tools/tune/Difference.h"
#include "tools/tune/Landscape.h"
#include "tools/tune/TableListing.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>

namespace tessera::tools {

namespace fs = std::filesystem;

namespace {

struct TuneOptions {
  std::string show;
  bool html = false;
  std::vector<std::string> diff, merge, rekey;
  TuneSearch search;
};

// Writes the page of a table, with the times stored in the same folder.
void showPage(const TuneOptions &options) {
  const tune::TuneTable table = tune::readTable(options.show);
  const fs::path times = tune::timesFile(options.show);
  const std::string out = options.search.out.empty()
                              ? fs::path(options.show).stem().string() + ".html"
                              : options.search.out;
  const std::vector<Landscape> landscapes =
      landscapesOf(table, tune::Times::read(times));
  writeOutput(out, landscapePage("Configurations of " + table.device.name,
                                 table, landscapes));
  size_t timed = 0;
  for (const Landscape &landscape : landscapes)
    for (const Landscape::Row &row : landscape.rows)
      timed += std::count_if(row.cells.begin(), row.cells.end(),
                             [](const auto &cell) { return cell.has_value(); });
  std::printf("%s: %zu configurations of %zu entries%s\n", out.c_str(), timed,
              table.entries().size(),
              fs::exists(times)
                  ? ""
                  : (", the table's alone: no " + times.string()).c_str());
}

int show(const TuneOptions &options) {
  if (options.html) {
    showPage(options);
    return 0;
  }
  std::fputs(tableListing(tune::readTable(options.show)).c_str(), stdout);
  return 0;
}

int diff(const TuneOptions &options) {
  const TableDifference difference = compareTables(
      tune::readTable(options.diff[0]), tune::readTable(options.diff[1]));
  std::fputs(difference.any ? difference.text.c_str()
                            : "the tables choose the same\n",
             stdout);
  return difference.any ? 1 : 0;
}

int merge(const TuneOptions &options) {
  if (options.search.out.empty())
    throw Error("tessera tune --merge writes a file and was given none",
                "add --out TABLE.yaml");
  // The output may be one of the inputs, and a running search may write it.
  const tune::ChangingFile changing(options.search.out);
  tune::TuneTable merged = tune::readTable(options.merge[0]);
  for (size_t i = 1; i < options.merge.size(); ++i)
    merged = tune::merge(merged, tune::readTable(options.merge[i]));
  tune::writeTable(options.search.out, merged);
  std::printf("%s: %zu entries of %zu tables\n", options.search.out.c_str(),
              merged.entries().size(), options.merge.size());
  return 0;
}

// Sets the hash of the named kernels' entries to that of the kernel's current
// text. scripts/rekey-tables decides for which kernels this is valid.
int rekey(const TuneOptions &options) {
  const std::string &file = options.rekey[0];
  const tune::ChangingFile changing(file);
  const tune::TuneTable before = tune::readTable(file);
  tune::TuneTable after;
  after.device = before.device;
  after.provenance = before.provenance;
  const std::set<std::string> kernels(options.rekey.begin() + 1,
                                      options.rekey.end());
  size_t changed = 0;
  for (tune::TuneEntry entry : before.entries()) {
    if (kernels.count(entry.key.kernel)) {
      const auto hash = tune::currentHash(entry.key.kernel);
      if (!hash || hash->empty())
        throw Error("no kernel " + entry.key.kernel,
                    "name it as the table does: "
                    "kernels/nsa/window_fwd.py:window_fwd");
      changed += entry.key.textHash != *hash;
      entry.key.textHash = *hash;
    }
    after.set(entry);
  }
  tune::writeTable(file, after);
  std::printf("%s: %zu of %zu entries have another hash\n", file.c_str(),
              changed, after.entries().size());
  return 0;
}

int run(const TuneOptions &options) {
  const int modes = !options.show.empty() + !options.diff.empty() +
                    !options.merge.empty() + !options.rekey.empty() +
                    wantsSearch(options.search);
  if (modes != 1)
    throw Error(modes ? "tessera tune does one thing at a time"
                      : "tessera tune was not told what to do",
                "name one of --show, --diff, --merge and --rekey, or what to "
                "tune: "
                "--config FILE or folders of recorded launches; see tessera "
                "tune --help");
  if (options.html && options.show.empty())
    throw Error("--html is for a table that is shown",
                "tessera tune --show TABLE.yaml --html -o page.html");
  if (wantsSearch(options.search))
    return runTuneSearch(options.search);
  if (!options.show.empty())
    return show(options);
  if (!options.rekey.empty())
    return rekey(options);
  return options.diff.empty() ? merge(options) : diff(options);
}

} // namespace

Command addTune(CLI::App &app) {
  auto options = std::make_shared<TuneOptions>();
  CLI::App *verb = app.add_subcommand(
      "tune", "Find the fastest configurations of kernels on this machine, or "
              "look at tables of them");
  addTuneSearchOptions(*verb, options->search);
  verb->add_option("--show", options->show, "print a table");
  verb->add_flag("--html", options->html,
                 "with --show: write a page with every configuration that was "
                 "timed (-o FILE; the default is TABLE.html here)");
  verb->add_option("--diff", options->diff,
                   "what two tables choose differently; ends with 1 where "
                   "they do")
      ->expected(2);
  verb->add_option("--merge", options->merge,
                   "entries of all tables; of two of a kind the measured, then "
                   "the later one")
      ->expected(2, 1000);
  verb->add_option("--rekey", options->rekey,
                   "a table, then kernels whose text changed and whose code "
                   "did not get worse: their entries get the new text's hash")
      ->expected(2, 1000);
  verb->footer(
      "Examples:\n"
      "  tessera tune --config configs/quickstart.yaml --budget 2m --out "
      "table.yaml\n"
      "  tessera tune --config configs/quickstart.yaml --out table.yaml "
      "--resume\n"
      "  tessera tune --config configs/m7c_125m.yaml --device cuda --budget "
      "10m --out tables/\n"
      "  tessera tune kernels/patterns/moba.py model.n_heads=8 "
      "train.seq_len=4096 --out moba.yaml\n"
      "  tessera tune --show configs/tuned/nvidia-h200.yaml\n"
      "  tessera tune --show table.yaml --html -o table.html\n"
      "  tessera tune --diff before.yaml after.yaml\n"
      "  tessera tune --merge mine.yaml theirs.yaml --out both.yaml\n"
      "  tessera tune --rekey table.yaml "
      "kernels/nsa/window_fwd.py:window_fwd\n\n"
      "docs/tuning.md");
  return {verb, [options] { return run(*options); }};
}

} // namespace tessera::tools
