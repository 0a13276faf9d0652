// trainer/parallel/SameTable.h - compares the tuning tables of the processes of
// a run.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Kernels.h"
#include "trainer/parallel/DataParallel.h"

#include <string>

namespace tessera::trainer {

/// Returns "PATH (TESSERA_TUNED, SHA-256 0123456789abcdef)", or "no table".
std::string describe(const models::TuningTable &table);

/// Throws tessera::Error, in all processes, if a process has a table with
/// another content than process 0. Paths may differ. All processes must call
/// this function.
void requireSameTable(const models::TuningTable &table, DataParallel &parallel);

} // namespace tessera::trainer
