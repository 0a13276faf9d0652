// tools/gpucheck/GpuCheck.h - the two processes of tessera-gpu-check.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// The worker holds the GPU and does item after item; the parent starts another
// one where it died, hangs, or has a context that a fault made useless. They
// talk by lines of JSON on a pipe: {"gpu": {...}} or {"none": WHY} or {"error":
// WHY} first, then {"phase": TEXT} as an item goes on, with "candidate": K
// where a configuration is at work, and, each with "item": INDEX, {"row":
// {...}} for one that ended, {"late": true} for one that does not fit into the
// time, {"excluded": K, "why": TEXT} for a configuration that took the context
// with it.
#pragma once

#include "replay/packed/PackedRun.h"
#include "support/Json.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace tessera::gpucheck {

using Clock = std::chrono::steady_clock;

enum class Kind {
  Check,     // results of a case
  Tune,      // its configurations: results and times
  Time,      // a case, beside another compiler's code
  Peers,     // other libraries' attention, by Python; the parent's
  Calibrate, // a figure of the cost model
};
inline constexpr const char *kindNames[] = {"check", "tune", "time", "peers",
                                            "calibrate"};

struct Options {
  std::string folder, json, only;
  std::string table; // of tuned configurations; default: beside `json`
  std::string python = "python3"; // for Peers
  cases::PackedOptions launches;
  uint32_t seconds = 60; // that a phase of an item may take
  uint32_t budget = 0;   // seconds of all; 0: no limit
  bool resume = false;   // takes over what `json` has
  bool isPart = false;   // of another command, which says what it made
  std::vector<std::string> phases; // names of kinds; empty: all

  // This process is the worker: it begins with this item, leaves out those of
  // `skip` and the configurations of `exclude` ("INDEX:K").
  int32_t worker = -1;
  std::vector<size_t> skip;
  std::vector<std::string> exclude;
  double left = 0, tuneLeft = 0; // seconds; of tuning
};

inline constexpr int workerPipe = 3; // descriptor of its lines

struct Item {
  Kind kind;
  std::filesystem::path folder; // of a case
  std::string name;             // of the case or figure

  std::string text() const { return kindNames[size_t(kind)] + (" " + name); }
};

// Folders of the cases, sorted. Throws Error for one without code.
std::vector<std::filesystem::path> casesOf(const Options &options);
// What there is to do, in order; the same in both processes.
std::vector<Item> itemsOf(const Options &options);

// The configurations of a case in turns. `say` gets {"phase", "candidate"}.
// Throws Error where the kernel's own choice cannot be used.
struct TuneTask {
  std::filesystem::path folder;
  std::set<size_t> excluded; // whose failure is known
  Clock::time_point deadline;
  bool clearCache = true;
};
// A configuration left a context in which nothing works any more.
struct LostContext {
  size_t candidate;
  std::string why;
};
Json tuneCase(const TuneTask &task, const std::function<void(Json)> &say);

// The names of figures, in order, and one of them measured: {"name", "value",
// "spread", "unit", "published", "of_published"} or "refused" in place of a
// value above what the hardware can do. `folder`: of the pack. Throws Error.
const std::vector<std::string> &figureNames();
Json measureFigure(const std::string &name, const std::filesystem::path &folder,
                   const std::function<void(Json)> &say);

// Exit codes: 0 where there is no GPU or every case is ok, else 1; 130 after
// Ctrl-C.
int runParent(const Options &options);
int runWorker(const Options &options);
int runProbe(); // 2 where there is no GPU

} // namespace tessera::gpucheck
