// runtime/device/cpu/Parallel.h - runs the programs of a grid on several
// threads.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/device/cpu/CpuModule.h"
#include "runtime/device/cpu/WorkEstimate.h"

#include <array>
#include <cstddef>
#include <functional>

namespace tessera::runtime {

class Report;

// Runs every program of the grid once, x fastest, and waits for all. Each
// running program gets `scratchBytes` of scratch memory. If a program faults or
// its assertion fails, it stops and no further program starts; returns the
// first such fault. `work` decides whether the calling thread runs the grid
// alone, and records how long the programs take. Without `work`, all threads
// run every grid.
[[nodiscard]] Fault runGrid(const CpuModule &module, const void *args,
                            const std::array<uint32_t, 3> &grid,
                            size_t scratchBytes, Report *report = nullptr,
                            WorkEstimate *work = nullptr);

// Calls body(begin, end) for parts of [0, count) on the threads that run
// kernels, and returns when all calls have returned.
void runTasks(int64_t count, const std::function<void(int64_t, int64_t)> &body);

// Returns how many threads run kernels: the host library's, else the pool's.
int hostThreads();

} // namespace tessera::runtime
