// tools/report/Runs.h - reads training runs from their folders.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Json.h"

#include <filesystem>
#include <string>
#include <vector>

namespace tessera::tools {

// Returns the run folder that contains `path`; empty if none does.
std::filesystem::path runOf(const std::filesystem::path &path);

// Returns the data of a run:
//
// {"name", "folder",
//  "series": {"bpb": [[step, value]...], "grad_norm", "step_ms", ...},
//  "skipped": [[step, why]...],
//  "config": {"train.lr": "0.001"...}, "result": {"val_bpb": 0.9...},
//  "kernels": [[file, sha256]...],
//  "tuning": {"path", "origin", "sha256", "tuned", "nearest_length",
//             "default"},
//  "trace": {"steps": "step 3 to step 5", "kernels_share", "gemms_share",
//            "kernels": [{"name", "configuration", "launches", "mean_us",
//                         "share"}...]}, "unreadable": n}
//
// series: every finite number in metrics.jsonl by its key, except those of
// skipped updates; nested members have keys such as a.b. trace: launches of a
// step and their shares of its time, from trace.json (train.trace_steps); null
// without that file. config and result: config.json and metrics.json with keys
// such as a.b; empty without the file. kernels: those of the newest step_N that
// the run used. tuning: the table of env.json and the numbers of launches by
// the source of their configuration; empty without it. unreadable: the number
// of lines of metrics.jsonl that are not objects with a step, such as the
// truncated last line of a run that was killed. Throws Error for a folder
// without metrics.jsonl.
Json runJson(const std::filesystem::path &folder);

// Returns all runs. Runs with equal names are named by their folders.
Json runsJson(const std::vector<std::filesystem::path> &folders);

// Returns "run,step,figure,value" with a line for each number of the series in
// order. A trace adds lines without a step for "kernel NAME CONFIGURATION
// FIGURE".
std::string runsCsv(const Json &runs);

} // namespace tessera::tools
