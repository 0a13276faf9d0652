// dialect/layout/DrawLayout.h - layouts and plans as text for a terminal.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialect/layout/Conversion.h"

namespace tessera::layout {

struct DrawLayoutOptions {
  int elementBits = 32;
  int width = 100; // columns of the terminal; wider tiles are cut into panels
};

// The bases, what they amount to, and a map of the tile: for every element the
// place that holds it (the first one, where there is replication).
//   register layouts   warp.lane:registers, without the warp when there is one
//   shared layouts     offset/bank
std::string drawLayout(const LinearLayout &layout,
                       const DrawLayoutOptions &options);

// A plan in a few lines: the kind, what a warp executes, the model's cost.
std::string describeConversion(const ConversionPlan &plan);
// One access in one line.
std::string describeAccess(const SharedAccess &access);

} // namespace tessera::layout
