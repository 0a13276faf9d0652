// trainer/loop/KernelTexts.h - copies, hashes and compares the kernel files of
// a run.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Kernels.h"
#include "trainer/parallel/DataParallel.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace tessera::trainer {

/// Maps names to texts. A name has the last two components of the path
/// ("nsa/select_fwd.py"), or more if two files would share a name. Absolute
/// paths are not used, so a run can continue in another copy of the repository.
using KernelTexts = std::map<std::string, std::string>;
KernelTexts kernelTexts(const std::vector<models::KernelFile> &files);

/// Returns the SHA-256 of each text by name.
std::map<std::string, std::string> kernelSums(const KernelTexts &texts);

/// Returns "nsa/select_fwd.py has changed, nn/rope.py is new"; empty if both
/// are equal. A file in another folder with the same text is unchanged.
std::string kernelChange(const std::map<std::string, std::string> &before,
                         const std::map<std::string, std::string> &now);

/// Throws tessera::Error in all processes, with the names of the node and of
/// the files, if a file of the same name has another text in a process than in
/// process 0. A file that only one of them used is not compared. All processes
/// must call this function.
void requireSameKernelFiles(const KernelTexts &texts, DataParallel &parallel);

/// Writes the texts and SHA256SUMS to kernels/step_NNNNNNNN in the run folder,
/// unless the copies of an earlier step are equal. `step` is the first step, of
/// 0 .., that uses them. Removes folders of later steps, which the resumed run
/// discards.
void keepKernels(const std::string &run, int64_t step,
                 const KernelTexts &texts);

/// Returns the file below `folder` that shares the most trailing path
/// components with `file`, at least two; empty if there is none.
std::string keptCopy(const std::filesystem::path &folder,
                     const std::string &file);

/// Returns a run's newest copy of a kernel file; empty if there is none.
std::string keptKernelFile(const std::string &run, const std::string &file);

} // namespace tessera::trainer
