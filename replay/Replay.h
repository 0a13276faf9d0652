// replay/Replay.h - runs recorded launches and compares.
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
  std::string message; // of all but ok; may have several lines
  std::vector<ArgumentReport> arguments; // the written ones, in order
  double seconds = 0;                    // of the launch
  Tensors produced; // the written arguments, laid out as in after
};

// {"case": FOLDER, "name", "kernel", "device", "status", "message", "seconds",
//  "written": {NAME: {"ok", "dtype", "compare", "elements", "max_abs", "rms",
//  "limit", "differing", "problem", "first": {"index", "got", "want"}}}}.
std::string reportJson(const CaseReport &report);
CaseReport reportFromJson(std::string_view text);
// "NAME  cpu  OUT: max abs 1.2e-07, rms 3.4e-08  ok", without a line end.
std::string reportLine(const CaseReport &report);

struct ReplayOptions {
  std::string device = "cpu";
  DeviceOptions deviceOptions;
  bool serial = false;
  std::filesystem::path out; // folder of the produced tensors; empty: none
  std::chrono::seconds timeout{600}; // of one launch
};

// Compiles all cases in parallel, then runs them in order in another process: a
// launch that crashes or hangs is an error of its case only. Each launch has a
// separate process where the device is not reusable(). `done` gets every report
// in order. Must be called while this process has one thread. Throws Error for
// a wrong device or an `out` that cannot be written.
void replay(const std::vector<std::filesystem::path> &folders,
            const ReplayOptions &options,
            const std::function<void(const CaseReport &)> &done);

// Binds a case's arguments to the kernel's parameters. Throws Error;
// UnsupportedCase for what is valid and not possible here.
PreparedLaunch prepareLaunch(const LoadedCase &loaded);
class TESSERA_EXCEPTION UnsupportedCase : public Error {
public:
  using Error::Error;
};

// Runs `body`, and turns what it throws into the report's status.
void guarded(CaseReport &report, const std::function<void()> &body);

// Runs one prepared case in this process and fills in the report.
void runCase(const LoadedCase &loaded, const PreparedLaunch &launch,
             Device &device, bool serial, CaseReport &report);

} // namespace tessera::cases
