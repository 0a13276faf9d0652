// trainer/data/PreparedFolder.h - caches the shards of documents that data.path
// names directly.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace tessera::trainer {

/// Returns true if the files are documents (.jsonl or .parquet), which must be
/// converted to shards. Throws tessera::Error if only some of them are.
bool wantPreparing(const std::vector<std::string> &files);

/// Returns the folder with the shards of these documents. On first use, runs
/// prepareData() with its defaults into dependencyFolder()/data/prepared. The
/// folder's name depends on the names, sizes, inodes and change times (ctime)
/// of the files and of `tokenizer` (readVocabulary()'s path; empty: bytes).
/// Programs that copy times, such as `cp -p`, cannot set inodes and change
/// times. Processes that need the same folder wait for the one that creates it.
/// An incomplete folder is recreated. Throws tessera::Error as prepareData()
/// does.
std::string preparedFolder(const std::string &path,
                           const std::vector<std::string> &files,
                           const std::string &tokenizer);

} // namespace tessera::trainer
