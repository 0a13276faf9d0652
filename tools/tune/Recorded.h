// tools/tune/Recorded.h - the launches that are tuned.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/tune/Request.h"

#include <filesystem>
#include <vector>

namespace tessera::tools {

// The folders of the recorded launches: those that are given, or those of a
// micro-batch of the training run or the pattern, which is recorded on the cpu
// into `folder`/cases, with the kernels that a GPU gets unless the cpu is
// tuned. Throws Error, also where Ctrl-C ended the recording.
std::vector<std::filesystem::path>
recordedFolders(const TuneSearch &search, const std::filesystem::path &folder);

} // namespace tessera::tools
