// trainer/data/PreparedFolder.h - shards of documents that a run names as they
// are.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace tessera::trainer {

/// Whether the files are documents, .jsonl or .parquet, of which shards have to
/// be made. Throws tessera::Error for a mixture with others.
bool wantPreparing(const std::vector<std::string> &files);

/// The folder with the shards of these documents: `data prepare` with its
/// defaults, done once and kept in dependencyFolder()/data/prepared. Its name
/// depends on the names, sizes, inodes and times of change (ctime) of the files
/// and of `tokenizer` (readVocabulary()'s path; empty: bytes). A program that
/// copies times, such as `cp -p`, cannot copy the latter two. Processes that
/// want the same folder wait for the one that makes it; an incomplete folder is
/// made again. Throws tessera::Error as prepareData() does.
std::string preparedFolder(const std::string &path,
                           const std::vector<std::string> &files,
                           const std::string &tokenizer);

} // namespace tessera::trainer
