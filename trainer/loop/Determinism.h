// trainer/loop/Determinism.h - process-wide settings for bitwise reproducible
// runs.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tessera::trainer {

struct Config;

/// Sets the number of CPU threads of this process. Compiled kernels and matrix
/// products use tessera's threads, which do not wait for a preempted thread;
/// kernels=torch uses torch's threads.
void useThreads(const Config &config);

/// Calls useThreads() and restricts torch in this process to deterministic
/// algorithms: an operation without one is an error.
void computeDeterministically(const Config &config);

} // namespace tessera::trainer
