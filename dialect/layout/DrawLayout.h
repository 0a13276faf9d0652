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

// Returns the bases, a summary, and a table of the tile that shows for every
// element its place (the first one, if the element is replicated):
//   register layouts   warp.lane:registers, without the warp if there is one
//   shared layouts     offset/bank
std::string drawLayout(const LinearLayout &layout,
                       const DrawLayoutOptions &options);

// Returns a few lines about a plan: its kind, the instructions that a warp
// executes, and the cost by the model.
std::string describeConversion(const ConversionPlan &plan);
// Returns one line that describes the access.
std::string describeAccess(const SharedAccess &access);

} // namespace tessera::layout
