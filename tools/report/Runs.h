// tools/report/Runs.h - training runs as their folders tell them.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Json.h"

#include <filesystem>
#include <string>
#include <vector>

namespace tessera::tools {

// {"name", "folder",
//  "series": {"bpb": [[step, value]...], "grad_norm", "step_ms", ...},
//  "skipped": [[step, why]...],
//  "config": {"train.lr": "0.001"...}, "result": {"val_bpb": 0.9...},
//  "kernels": [[file, sha256]...],
//  "trace": {"steps": "step 3 to step 5", "kernels_share", "gemms_share",
//            "kernels": [{"name", "configuration", "launches", "mean_us",
//                         "share"}...]}, "unreadable": n}
//
// series: every number of the lines of metrics.jsonl but those of skipped
// updates, by its key, members of members as a.b; values that are no finite
// numbers are left out. trace: of trace.json (train.trace_steps), launches of a
// step and shares of its time; null without one. config
// and result: config.json and metrics.json, members of members as a.b; empty
// while there is none. kernels: of the newest step_N that the run used.
// unreadable: lines of metrics.jsonl that are no objects with a step, such as
// the torn last one of a run that was killed. Throws Error for a folder without
// metrics.jsonl.
Json runJson(const std::filesystem::path &folder);

// All runs; those of one name have what tells their paths apart.
Json runsJson(const std::vector<std::filesystem::path> &folders);

// "run,step,figure,value" with a line for each number of the series, in order,
// and, without a step, for "kernel NAME CONFIGURATION FIGURE" of a trace.
std::string runsCsv(const Json &runs);

} // namespace tessera::tools
