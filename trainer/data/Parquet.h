// trainer/data/Parquet.h - documents out of parquet files, read by a program of
// its own.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/data/TextFiles.h"

#include <cstdint>
#include <filesystem>
#include <string>

namespace tessera::trainer {

/// Arrow reads the files, in tessera-parquet: a file that makes Arrow abort or
/// take all memory ends that process with an error that names the file, and
/// neither this program nor what trains without parquet needs Arrow.

/// tessera-parquet beside this program. Throws tessera::Error when it is not
/// there, which is so where pyarrow was not installed when tessera was built.
std::filesystem::path parquetProgram();

/// Gives the texts of the column `field` to the sink, row after row. Empty and
/// null ones are left out. Memory is that of a few pages of the file,
/// not of a row group. Throws
/// tessera::Error with file, row group and what to do for a file that is
/// damaged, has no such column, or one that is not text. Returns the rows.
int64_t readParquet(const std::string &file, const std::string &field,
                    DocumentSink &sink,
                    const std::filesystem::path &program = parquetProgram());

/// Rows, row groups and columns, one line for each fact.
std::string
inspectParquet(const std::string &file,
               const std::filesystem::path &program = parquetProgram());

} // namespace tessera::trainer
