// ops/launch/Threads.h - which threads run kernels and products on the CPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tessera::runtime {

/// Runs kernels on `count` threads of this library instead of torch's, and
/// torch's own operations on the thread that calls them. A thread of torch's
/// OpenMP waits for all others at the end of each operation; ours waits only
/// for work that another thread has begun (ThreadPool.h). For the process; call
/// it before the first launch. Throws if count is less than 1.
void useOwnThreads(int64_t count);

/// Makes torch's operations on this thread use no other thread, if kernels run
/// on threads of this library. A new thread starts with torch's default.
void useOneTorchThread();

} // namespace tessera::runtime
