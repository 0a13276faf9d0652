// replay/Replay.h - runs recorded launches and compares their results.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "replay/Compare.h"
#include "replay/Device.h"
#include "support/Error.h"

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tessera::cases {

enum class Status { Ok, Mismatch, Unsupported, Error };
const char *statusName(Status status); // "ok", "mismatch", ...

struct ArgumentReport {
  std::string name, dtype, mode;
  int64_t elements = 0;
  Comparison comparison;
  std::vector<int64_t> index; // of the first difference
  std::string got, want;      // its values
};

struct CaseReport {
  std::string folder, name, kernel, device;
  Status status = Status::Ok;
  std::string message;                   // unless ok; may have several lines
  std::vector<ArgumentReport> arguments; // the written arguments, in order
  double seconds = 0;                    // of the launch
  Tensors produced; // the written arguments, in the layout of `after`
};

// Returns the report as JSON:
//  {"case": FOLDER, "name", "kernel", "device", "status", "message", "seconds",
//   "written": {NAME: {"ok", "dtype", "compare", "elements", "max_abs", "rms",
//   "limit", "differing", "problem", "first": {"index", "got", "want"}}}}.
std::string reportJson(const CaseReport &report);
CaseReport reportFromJson(std::string_view text);
// Returns the report as a line without its newline: "NAME  cpu  OUT: max abs
// 1.2e-07, rms 3.4e-08  ok".
std::string reportLine(const CaseReport &report);

struct ReplayOptions {
  std::string device = "cpu";
  DeviceOptions deviceOptions;
  bool serial = false;
  std::filesystem::path out; // folder of the produced tensors; empty: none
  std::chrono::seconds timeout{600}; // of one launch
};

// Compiles all cases in parallel, then runs them in order in another process,
// so that a crash or hang affects only its case. Each launch has a separate
// process unless the device is reusable(). Calls `done` with every report in
// order. Must be called while this process has one thread. Throws Error for an
// invalid device or an `out` that cannot be written.
void replay(const std::vector<std::filesystem::path> &folders,
            const ReplayOptions &options,
            const std::function<void(const CaseReport &)> &done);

// Binds a case's arguments to the kernel's parameters. Throws Error, and
// UnsupportedCase for a valid case that cannot run here.
PreparedLaunch prepareLaunch(const LoadedCase &loaded);
class TESSERA_EXCEPTION UnsupportedCase : public Error {
public:
  using Error::Error;
};

// Runs `body` and converts its exceptions to the report's status.
void guarded(CaseReport &report, const std::function<void()> &body);

// Runs one prepared case in this process and fills in the report.
void runCase(const LoadedCase &loaded, const PreparedLaunch &launch,
             Device &device, bool serial, CaseReport &report);

} // namespace tessera::cases
