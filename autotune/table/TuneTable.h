// autotune/table/TuneTable.h - which configuration is the fastest, by device,
// kernel, types, geometry and length.
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

// Of the form of the file.
inline constexpr int64_t tableVersion = 1;

// Longest sequence that has a bucket.
inline constexpr int64_t longestSequence = int64_t(1) << 40;

// The bucket of a sequence length: the next power of two, its upper end, where
// entries are measured. 0 (unknown) stays 0. Throws Error for a negative length
// and one beyond longestSequence.
int64_t bucketOf(int64_t sequence);

// What an entry is for. makeKey() makes it from a launch.
struct TuneKey {
  // Path in the repository and function:
  // "kernels/nsa/select_fwd.py:select_fwd". Of a kernel that is none of ours,
  // the file's name alone.
  std::string kernel;
  // Of the kernel with its callees and constants, without comments, docstrings,
  // hints and configurations: 32 hexadecimal digits.
  std::string textHash;
  // What the pointers point to, in the order of the signature: "bf16"; "none"
  // for None.
  std::vector<std::string> dtypes;
  // Those that the launch gives: its geometry. Not those of heuristics.
  Constexprs constexprs;
  // bucketOf(LaunchOptions::sequence).
  int64_t bucket = 0;

  bool operator==(const TuneKey &) const = default;
};
// By kernel, dtypes, constexprs, bucket, text: the order of tables.
bool operator<(const TuneKey &a, const TuneKey &b);
// "kernels/nsa/select_fwd.py:select_fwd bf16,bf16,i32 D=64 G=4, sequence 4096".
std::string describe(const TuneKey &key);

// What a launch would have to give to run like this.
struct TuneChoice {
  Constexprs constexprs;
  // None: the kernel's own. They mean nothing on the cpu.
  std::optional<int64_t> numWarps, numStages;

  bool operator==(const TuneChoice &) const = default;
};
// "BM=64 BN=32 num_warps=4".
std::string describe(const TuneChoice &choice);

struct TuneEntry {
  TuneKey key;
  TuneChoice use;
  // Median microseconds of a launch; those that the model says where
  // `predicted`. More than 0.
  double timeUs = 0;
  // Distance of the quartiles of the measurements over their median, 0.01: 1%.
  double spread = 0;
  // Of the kernel's first configuration, measured beside it; 0: not known.
  double defaultUs = 0;
  // The next best; none where there was no other candidate.
  std::optional<TuneChoice> runnerUp;
  double runnerUpUs = 0;
  std::string date; // "2026-11-22"
  bool predicted = false;
  std::string why; // one line for people

  bool operator==(const TuneEntry &) const = default;
};

// What a table was made for.
struct DeviceModel {
  std::string name;       // "AMD EPYC 7B13 64-Core Processor", "NVIDIA H200"
  std::string target;     // "cpu:x86-64-v3:0000", "sm_90"
  int64_t cores = 0;      // physical cores that the process may use, or SMs
  int64_t threads = 0;    // cpu: logical ones; GPU: 0
  int64_t powerWatts = 0; // the power cap; 0: not known

  bool operator==(const DeviceModel &) const = default;
};
// "NVIDIA H200, sm_90, 132 SMs, 700 W".
std::string describe(const DeviceModel &device);
// Whether a table of `table` is for a machine of `here`: the same target, cores
// and threads, power caps that do not differ where both are known, and the same
// name; a table's name may leave out the last words of the machine's ("NVIDIA
// A100-SXM4" is for an "NVIDIA A100-SXM4-80GB").
bool fits(const DeviceModel &table, const DeviceModel &here);
// "amd-epyc-7b13-64-core-processor-2c4t": lower case, no other signs than
// dashes. The table of a device is configs/tuned/<this>.yaml, or one whose name
// this one begins with.
std::string fileStem(const DeviceModel &device);

// Where a table came from; everything may be empty.
struct TuneProvenance {
  std::string commit;   // of the kernels
  std::string compiler; // compilerBuildId()
  std::string driver, ptxas;
  std::string command; // that makes the table again

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

  // The entry of exactly this key, or null; valid until the table changes.
  const TuneEntry *find(const TuneKey &key) const;
  // In the order of their keys.
  const std::vector<TuneEntry> &entries() const { return list; }
  // Replaces the entry of the same key. Throws Error for an entry that a file
  // may not hold: a time that is no positive number, control characters ...
  void set(TuneEntry entry);
  // Whether there was one.
  bool erase(const TuneKey &key);

  bool operator==(const TuneTable &) const = default;

private:
  std::vector<TuneEntry> list;
};

// The entries of both. Of two of one key the measured one stays, then the later
// one, then that of `b`. Throws Error for tables of different devices.
TuneTable merge(const TuneTable &a, const TuneTable &b);

// A table as YAML: the same table gives the same bytes.
std::string printTable(const TuneTable &table);
// `name` stands in messages, which say file:line:column. Throws Error for
// anything that printTable() would not write, less its order and layout: keys
// that are unknown or twice there, entries twice, numbers out of range.
TuneTable parseTable(std::string_view text, const std::string &name);

// Throws Error.
TuneTable readTable(const std::filesystem::path &file);
// Whole or not at all. Throws Error.
void writeTable(const std::filesystem::path &file, const TuneTable &table);

} // namespace tessera::tune
