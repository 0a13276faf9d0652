// tools/gpucheck/Results.h - what came of the items of tessera-gpu-check.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/gpucheck/GpuCheck.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tessera::gpucheck {

// Rows by the number of their item; the file is written after each, so that an
// interruption loses the item under way alone.
class Results {
public:
  Results(const Options &options, std::vector<Item> items);

  const std::vector<Item> &items() const { return list; }
  // The first item from there on that is neither done nor late.
  std::optional<size_t> next(size_t from = 0) const;
  bool done(size_t i) const { return !rows[i].is_null() || late.contains(i); }

  // Takes over the rows of an earlier file of the same pack. Throws Error for a
  // file of another one.
  void resume();

  // Of the worker. Throws Error where rows of another GPU were taken over.
  void opened(const Json &gpu);
  bool isOpen() const { return !gpu.is_null(); }
  void add(size_t i, Json row);
  void fail(size_t i, const std::string &why);
  void exclude(size_t i, size_t candidate, const std::string &why);
  void tooLate(size_t i);
  // Configurations of an item that are not to run again.
  std::vector<std::string> excluded() const; // "ITEM:CANDIDATE"

  // Prints what there is, writes file and table; the exit code.
  int finish(bool interrupted);

private:
  Json whole() const;
  Json gathered(Kind kind) const;
  Json notDone() const;
  void write() const;
  std::string writeTable() const; // empty: there are no entries
  void print(size_t i, const std::string &line) const;
  double secondsLeft() const;

  const Options &options;
  const std::vector<Item> list;
  const Clock::time_point start = Clock::now();
  std::vector<Json> rows; // null: not done
  std::set<size_t> late;
  std::map<size_t, std::map<size_t, std::string>> lost; // configurations
  Json gpu, before, pack;
  size_t doneHere = 0;
  bool complete = false;
};

// {"clocks_mhz", "power_watts", "temperature", "other_processes", ...} as
// nvidia-smi tells; nulls where there is none.
Json gpuState();

// What FOLDER/peers.py measures, or {"not_measured": WHY}.
Json runPeers(const Options &options, double seconds);

} // namespace tessera::gpucheck
