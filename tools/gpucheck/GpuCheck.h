// tools/gpucheck/GpuCheck.h - the two processes of tessera-gpu-check.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// The worker holds the GPU and runs case after case; the parent starts another
// one where it died, hangs, or has a context that a fault made useless. They
// talk by lines of JSON on a pipe: {"gpu": {...}} or {"none": WHY} or {"error":
// WHY} first, then {"case": INDEX, "phase": TEXT} as a case goes on and
// {"row": {...}} for each that ended.
#pragma once

#include "runtime/cases/PackedRun.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tessera::gpucheck {

struct Options {
  std::string folder, json, only;
  cases::PackedOptions launches;
  uint32_t seconds = 60; // that a phase of a case may take
  int32_t worker = -1;   // this process is the worker, from this case on
};

inline constexpr int workerPipe = 3; // descriptor of its lines

// Folders of the cases, sorted. Throws Error for one without code.
std::vector<std::filesystem::path> casesOf(const Options &options);

// Exit codes: 0 where there is no GPU or every case is ok, else 1.
int runParent(const Options &options);
int runWorker(const Options &options);
int runProbe(); // 2 where there is no GPU

} // namespace tessera::gpucheck
