// trainer/loop/Determinism.h - the same bits from the same settings.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tessera::trainer {

struct Config;

/// Uses `threads` CPU threads from now on: for compiled kernels and products
/// those of tessera, which wait for no thread whose core another process uses;
/// with kernels=torch torch's. For the process.
void useThreads(const Config &config);

/// Does useThreads(), and makes torch use deterministic algorithms alone: an
/// operation without one is an error. For the process.
void computeDeterministically(const Config &config);

} // namespace tessera::trainer
