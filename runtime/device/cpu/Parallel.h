// runtime/device/cpu/Parallel.h - programs of a grid on several threads.
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

// Runs every program of the grid once, x fastest, and returns when all are
// done. `scratchBytes` is what each running program gets. A program that the
// processor stops, or whose assertion in the report fails, is left and no
// further ones start; gives the first such fault. `work` decides whether the
// calling thread runs the grid alone, and is told what the programs take;
// without it all threads run every grid.
[[nodiscard]] Fault runGrid(const CpuModule &module, const void *args,
                            const std::array<uint32_t, 3> &grid,
                            size_t scratchBytes, Report *report = nullptr,
                            WorkEstimate *work = nullptr);

// Calls body(begin, end) for parts of [0, count) on the threads that run
// kernels, and returns when all calls have returned.
void runTasks(int64_t count, const std::function<void(int64_t, int64_t)> &body);

// How many threads run kernels: those of the host library, else our own.
int hostThreads();

} // namespace tessera::runtime
