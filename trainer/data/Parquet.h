// trainer/data/Parquet.h - reads documents from parquet files in a separate
// process.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/data/TextFiles.h"

#include <cstdint>
#include <filesystem>
#include <string>

namespace tessera::trainer {

/// The program tessera-parquet reads the files with Arrow. If Arrow aborts or
/// runs out of memory, only that process ends, and the caller gets an error
/// that names the file. The trainer does not link with Arrow.

/// Returns the path of tessera-parquet in the folder of this program. Throws
/// tessera::Error if it does not exist. The build omits it if pyarrow is not
/// installed.
std::filesystem::path parquetProgram();

/// Passes the texts of the column `field` to the sink, row after row, except
/// empty and null ones. Memory is limited to a few pages of the file instead of
/// a row group. Returns the number of rows. Throws tessera::Error, with file
/// and row group, if the file is damaged, lacks the column, or the column is
/// not text.
int64_t readParquet(const std::string &file, const std::string &field,
                    DocumentSink &sink,
                    const std::filesystem::path &program = parquetProgram());

/// Returns the number of rows, the row groups and the columns, one line for
/// each fact.
std::string
inspectParquet(const std::string &file,
               const std::filesystem::path &program = parquetProgram());

} // namespace tessera::trainer
