// tools/tune/Recorded.h - finds or records the launches to tune.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/tune/Request.h"

#include <filesystem>
#include <vector>

namespace tessera::tools {

// Returns the folders of the recorded launches. These are the given ones, or
// those of a micro-batch of the training run or the pattern, which is recorded
// on the cpu into `folder`/cases with the kernels for GPUs, or for the cpu if
// the cpu is tuned. Throws Error, also if Ctrl-C ended the recording.
std::vector<std::filesystem::path>
recordedFolders(const TuneSearch &search, const std::filesystem::path &folder);

} // namespace tessera::tools
