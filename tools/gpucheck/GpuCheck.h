// tools/gpucheck/GpuCheck.h - runs packed cases on this machine's NVIDIA GPU:
// work items and results.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// tessera-gpu-check and tessera tune --device cuda use it. The process that
// owns the GPU runs one item after another (support/Isolated.h); this process
// collects the rows that it reports.
#pragma once

#include "autotune/table/TuneTable.h"
#include "replay/gpu/GpuDevice.h"
#include "support/Json.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tessera::gpucheck {

using Clock = std::chrono::steady_clock;

enum class Kind {
  Check,     // results of a case
  Tune,      // its configurations: results and times
  Time,      // times of a case, alternating with another compiler's code
  Peers,     // other libraries' attention, by Python
  Calibrate, // a constant of the cost model
};
inline constexpr const char *kindNames[] = {"check", "tune", "time", "peers",
                                            "calibrate"};

struct Options {
  std::string folder, json;
  // Output file of the tuned configurations; default: named after the GPU, in
  // the folder of `json`.
  std::string table;
  tune::TuneProvenance provenance; // of the table
  std::string python = "python3";  // for measuring other libraries
  uint32_t timed = 20;             // launches of each compiler's code
  uint32_t repeated = 3;  // launches that must write the same bytes again
  bool clearCache = true; // before each timed launch
  uint32_t seconds = 60;  // limit of a phase of an item
  uint32_t budget = 0;    // limit of all items, in seconds; 0: none
  bool resume = false;    // adopts the rows of `json`
  bool isPart = false;    // called by a command that prints the summary
  std::vector<std::string> phases; // names of kinds; empty: all
};

struct Item {
  Kind kind;
  std::filesystem::path folder; // of a case, else of the pack
  std::string name;             // of the case or constant

  std::string text() const { return kindNames[size_t(kind)] + (" " + name); }
};

// Returns the work items in order. Throws Error for a case without code.
std::vector<Item> itemsOf(const Options &options);

struct Outcome {
  // 0 without a GPU or if every case is ok, else 1; 130 after Ctrl-C.
  int exitCode = 0;
  size_t tuned = 0; // launches with an entry in the table
};

// Rows by the number of their item. The file is written after each row, so that
// an interruption loses only the current item.
class Results {
public:
  Results(const Options &options, std::vector<Item> items);

  const std::vector<Item> &items() const { return list; }
  // Returns the first item from `from` on that is neither done nor late.
  std::optional<size_t> next(size_t from = 0) const;
  bool done(size_t i) const { return !rows[i].is_null() || late.contains(i); }

  // Adopts the rows of an earlier file of the same pack. Throws Error for a
  // file of another pack.
  void resume();

  // Stores the GPU's facts, with its "state". Throws Error if adopted rows
  // belong to another GPU.
  void opened(const Json &facts);
  void add(size_t i, Json row);
  void fail(size_t i, const std::string &why);
  // Excludes a configuration from further runs.
  void exclude(size_t i, size_t candidate, const std::string &why);
  std::set<size_t> excluded(size_t i) const;

  // Records whether the case of a checked row can be timed. The worker records
  // its own results, too.
  void note(size_t i, const Json &row);
  bool isWrong(const Item &item) const { return wrong.contains(item.name); }
  bool hasPeer(const Item &item) const { return !noPeer.contains(item.name); }

  // Returns cases::gpuState() as measured before the first item; null before
  // that.
  const Json &state() const { return before; }
  std::string commit() const {
    return pack.is_object() ? pack.value("commit", "") : "";
  }
  // Return the remaining seconds of the budget, and those for tuning.
  double secondsLeft() const;
  double tuningLeft() const;

  // Prints a summary and writes the file.
  Outcome finish(bool interrupted);

private:
  double passed() const {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }
  Json everything() const;
  Json gathered(Kind kind) const;
  Json notDone() const;
  void write() const;
  void print(size_t i, const std::string &line) const;

  const Options &options;
  const std::vector<Item> list;
  const Clock::time_point start = Clock::now();
  std::vector<Json> rows; // null: not done
  std::set<size_t> late;
  std::map<size_t, std::map<size_t, std::string>> lost; // configurations
  std::set<std::string> wrong, noPeer;                  // cases
  Json gpu, before, pack;
  size_t doneHere = 0;
  bool complete = false;
};

// Returns the path of the table of tuned configurations; empty: not written.
std::filesystem::path tableOf(const Options &options,
                              const tune::DeviceModel &device);
// Returns the device model of describeGpu().
tune::DeviceModel deviceOf(const Json &facts);

// Reads the tensors of a packed case. Throws Error.
cases::LoadedCase loadCase(const std::filesystem::path &folder);
// Returns a launch of compiled code.
cases::PreparedLaunch launchOf(runtime::CompiledKernel code,
                               uint32_t appended = 0);

// Functions that run in the process that owns the GPU.

// Times the configurations of a case alternately. `say` receives each action
// with the number of its configuration. Throws Error if the kernel's default
// configuration cannot be used, and LostProcess.
struct TuneTask {
  std::filesystem::path folder;
  std::set<size_t> excluded; // candidates with a known failure
  Clock::time_point deadline;
  bool clearCache = true;
};
using SayCandidate = std::function<void(const std::string &what, size_t)>;
struct Tuned {
  Json row;
  std::optional<tune::TuneEntry> entry; // none: the time ran out
};
Tuned tuneCase(const TuneTask &task, const SayCandidate &say);

// Lower bounds of a case's time on the GPU: seconds of its dots and of its
// memory traffic; 0 if unknown.
struct LeastTime {
  double flop = 0, dots = 0, memory = 0;
};
LeastTime leastTime(const cases::LoadedCase &loaded);

// Returns the times of a case, and with `peer` those of the other compiler's
// code: "us", "us_least", "us_quartiles", "peer_us" ..., rates. Throws Error.
Json timeCase(const Item &item, bool peer, const Options &options);

// Return the names of the constants in order, and the measurement of one of
// them: {"name", "value", "spread", "unit", "published", "of_published"}, with
// "refused" instead of a value above the hardware's limit. `folder` is that of
// the pack. Throws Error.
const std::vector<std::string> &figureNames();
Json measureFigure(const std::string &name,
                   const std::filesystem::path &folder);

// Functions that run in the process that watches the worker.

// Returns the output of FOLDER/peers.py, or {"not_measured": WHY}.
Json runPeers(const Options &options, double seconds);

// Runs all items. Ctrl-C stops it if the program has StopSignals.
Outcome runGpuCheck(const Options &options);

} // namespace tessera::gpucheck
