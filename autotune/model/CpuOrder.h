// autotune/model/CpuOrder.h - orders candidate tiles for a CPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/table/TuneTable.h"

#include <cstdint>
#include <vector>

namespace tessera::tune {

// Returns the estimated cost of an element of a candidate's largest tile,
// relative to an element in registers. It is known before compilation and
// orders the candidates of one kernel
// (docs/decisions/0009-no-cost-model-for-the-cpu.md). The number of elements of
// a BM x BN tile is the product; a kernel with one tile size is assumed to have
// 32 rows. Above 256 elements (32 AVX2 registers), spills grow; below, the
// loops and the program's overhead dominate. The constants are fitted to
// launches of 512 tokens.
double cpuElementCost(const std::vector<int64_t> &tiles);
double cpuElementCost(const TuneChoice &choice); // of the choice's integers

} // namespace tessera::tune
