// autotune/model/CpuOrder.h - which tiles a processor is likely to like.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/table/TuneTable.h"

#include <cstdint>
#include <vector>

namespace tessera::tune {

// What an element of a candidate's largest tile costs, in units of one in
// registers. It is known before anything is compiled, and orders the candidates
// of one kernel (docs/decisions/0009-no-cost-model-for-the-cpu.md).
// A tile of BM x BN has as many elements as the tiles' product; where a kernel
// has one tile, its rows are taken to have 32. Above 256 elements (32 AVX2
// registers' worth) more and more of the code loads and stores what does not
// fit; below, the loops and the program itself cost more than the work. The
// constants are fitted to launches of 512 tokens.
double cpuElementCost(const std::vector<int64_t> &tiles);
double cpuElementCost(const TuneChoice &choice); // of its integers

} // namespace tessera::tune
