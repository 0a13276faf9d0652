// autotune/table/TuneTable.h - the tuning table: the fastest configuration by
// device, kernel, types, geometry and length.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Constexprs.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::tune {

// Version of the file format.
inline constexpr int64_t tableVersion = 1;

// Maximum sequence length of a bucket.
inline constexpr int64_t longestSequence = int64_t(1) << 40;

// Returns the bucket of a sequence length: the next power of two, at which
// entries are measured. 0 (unknown) stays 0. Throws Error for a negative length
// and one above longestSequence.
int64_t bucketOf(int64_t sequence);

// Identifies the launches that an entry applies to. makeKey() derives it from a
// launch.
struct TuneKey {
  // Path in the repository and function:
  // "kernels/nsa/select_fwd.py:select_fwd". For a kernel outside of the
  // repository, the file's name instead of the path.
  std::string kernel;
  // Hash of the kernel with its callees and constants, without comments,
  // docstrings, hints and configurations: 32 hexadecimal digits.
  std::string textHash;
  // Element types of the pointers in signature order: "bf16"; "none" for None.
  std::vector<std::string> dtypes;
  // The constexprs that the launch gives (its geometry), without those of
  // heuristics.
  Constexprs constexprs;
  // bucketOf(LaunchOptions::sequence).
  int64_t bucket = 0;

  bool operator==(const TuneKey &) const = default;
};
// Orders by kernel, dtypes, constexprs, bucket and text, the order of tables.
bool operator<(const TuneKey &a, const TuneKey &b);
// Returns text such as "kernels/nsa/select_fwd.py:select_fwd bf16,bf16,i32 D=64
// G=4, sequence 4096".
std::string describe(const TuneKey &key);

// A configuration: the values that select it when a launch gives them.
struct TuneChoice {
  Constexprs constexprs;
  // nullopt: the kernel's default. The cpu ignores them.
  std::optional<int64_t> numWarps, numStages;

  bool operator==(const TuneChoice &) const = default;
};
// Returns text such as "BM=64 BN=32 num_warps=4".
std::string describe(const TuneChoice &choice);

struct TuneEntry {
  TuneKey key;
  TuneChoice use;
  // Median microseconds of a launch, measured, or predicted if `predicted`.
  // Above 0.
  double timeUs = 0;
  // Interquartile range of the measurements over their median; 0.01: 1%.
  double spread = 0;
  // Median microseconds of the kernel's default configuration, measured in the
  // same run; 0: unknown.
  double defaultUs = 0;
  // The second fastest; nullopt without another candidate.
  std::optional<TuneChoice> runnerUp;
  double runnerUpUs = 0;
  std::string date; // "2026-11-22"
  bool predicted = false;
  std::string why; // one line for readers

  bool operator==(const TuneEntry &) const = default;
};

// The device that a table applies to.
struct DeviceModel {
  std::string name;       // "AMD EPYC 7B13 64-Core Processor", "NVIDIA H200"
  std::string target;     // "cpu:x86-64-v3:0000", "sm_90"
  int64_t cores = 0;      // physical cores that the process may use, or SMs
  int64_t threads = 0;    // cpu: logical processors; GPU: 0
  int64_t powerWatts = 0; // the power cap; 0: not known

  bool operator==(const DeviceModel &) const = default;
};
// Returns text such as "NVIDIA H200, sm_90, 132 SMs, 700 W".
std::string describe(const DeviceModel &device);
// True if a table for `table` applies to the machine `here`. Target, cores and
// threads must be equal, and power caps if both are known. The name must be
// equal, but the table's name may omit the last words of the machine's: "NVIDIA
// A100-SXM4" applies to an "NVIDIA A100-SXM4-80GB".
bool fits(const DeviceModel &table, const DeviceModel &here);
// Returns the device's file name: "amd-epyc-7b13-64-core-processor-2c4t", lower
// case with dashes only. The table of a device is configs/tuned/<this>.yaml, or
// a file whose name is a prefix of it.
std::string fileStem(const DeviceModel &device);

// The origin of a table; all members may be empty.
struct TuneProvenance {
  std::string commit;   // of the kernels
  std::string compiler; // compilerBuildId()
  std::string driver, ptxas;
  std::string command; // recreates the table

  bool operator==(const TuneProvenance &) const = default;
};

// The fields of TuneProvenance by their names in a table's `made`.
inline constexpr std::pair<const char *, std::string TuneProvenance::*>
    provenanceFields[] = {{"commit", &TuneProvenance::commit},
                          {"compiler", &TuneProvenance::compiler},
                          {"driver", &TuneProvenance::driver},
                          {"ptxas", &TuneProvenance::ptxas},
                          {"command", &TuneProvenance::command}};

class TuneTable {
public:
  DeviceModel device;
  TuneProvenance provenance;

  // Returns the entry of exactly this key, or null. Valid until the table
  // changes.
  const TuneEntry *find(const TuneKey &key) const;
  // Returns the entries sorted by key.
  const std::vector<TuneEntry> &entries() const { return list; }
  // Inserts an entry or replaces the one of the same key. Throws Error for an
  // entry that a file may not contain: a time that is not positive, control
  // characters ...
  void set(TuneEntry entry);
  // Removes an entry. Returns true if it existed.
  bool erase(const TuneKey &key);

  bool operator==(const TuneTable &) const = default;

private:
  std::vector<TuneEntry> list;
};

// Returns the entries of both tables. Of two entries with one key, a measured
// entry wins, then the later one, then that of `b`. Throws Error for tables of
// different devices.
TuneTable merge(const TuneTable &a, const TuneTable &b);

// Returns the table as YAML. Equal tables give equal bytes.
std::string printTable(const TuneTable &table);
// Parses a table; `name` appears in messages (file:line:column). Accepts any
// order and layout, but otherwise throws Error for text that printTable() would
// not write: unknown or repeated keys, repeated entries, numbers out of range.
TuneTable parseTable(std::string_view text, const std::string &name);

// Reads a table from a file. Throws Error.
TuneTable readTable(const std::filesystem::path &file);
// Writes a table atomically. Throws Error.
void writeTable(const std::filesystem::path &file, const TuneTable &table);

} // namespace tessera::tune
