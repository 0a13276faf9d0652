// trainer/loop/KernelTexts.h - the kernel files of a run: kept, hashed,
// compared.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Kernels.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace tessera::trainer {

/// Text by name: the last two parts of the path ("nsa/select_fwd.py"), more of
/// them where two files would have one name. So a run may go on in another
/// copy of the repository.
using KernelTexts = std::map<std::string, std::string>;
KernelTexts kernelTexts(const std::vector<models::KernelFile> &files);

/// SHA-256 by name.
std::map<std::string, std::string> kernelSums(const KernelTexts &texts);

/// "nsa/select_fwd.py has changed, nn/rope.py is new"; empty: they are equal.
/// A file that was moved to another folder is the same file.
std::string kernelChange(const std::map<std::string, std::string> &before,
                         const std::map<std::string, std::string> &now);

/// Keeps the texts in kernels/step_NNNNNNNN of the run folder, with SHA256SUMS
/// beside them, unless those of an earlier step are the same. `step` is the
/// first that they make, counted from 0; folders of later steps belong to a
/// past that this run does not go on from, and go.
void keepKernels(const std::string &run, int64_t step,
                 const KernelTexts &texts);

/// Returns the copy of a kernel file below `folder`, which is found by the last
/// parts of its path, the more the better and two at least. Empty: none.
std::string keptCopy(const std::filesystem::path &folder,
                     const std::string &file);

/// Returns the newest copy of a kernel file that a run keeps; empty: none.
std::string keptKernelFile(const std::string &run, const std::string &file);

} // namespace tessera::trainer
