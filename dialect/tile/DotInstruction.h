// dialect/tile/DotInstruction.h - what computes a dot on a GPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// The only table of tensor-core instructions. tessera-dot-instructions asks it
// once for each dot; later passes and the lowering read the attribute.
#pragma once

#include "dialect/layout/MmaPlan.h"
#include "dialect/tile/TileDialect.h"

#include <optional>

namespace tessera::tile {

struct DotChoice {
  DotInstruction instruction = DotInstruction::Fma;
  std::optional<FmaReason> reason; // only of Fma
};

/// What should compute `dot`, by its types, its precision, how many products it
/// sums and, where its tensors have layouts, by these. Rows and columns may be
/// fewer than the instruction's: lanes that are left over hold replicas.
DotChoice chooseInstruction(DotOp dot);

/// The instruction for such elements; none where tensor cores have none.
std::optional<DotInstruction> mmaFor(mlir::Type element, Precision precision);

/// Of an instruction of tensor cores; none of Fma.
std::optional<layout::MmaShape> shapeOf(DotInstruction instruction);

/// The shape of what `dot` has been given; none of Fma and before
/// tessera-dot-instructions.
std::optional<layout::MmaShape> mmaShapeOf(DotOp dot);

/// Its fragments, once its tensors have layouts and its instruction is one of
/// tensor cores: the verifier has seen that they exist.
layout::MmaPlan mmaPlanOf(DotOp dot);

/// The attributes fit the types and layouts; see DotOp::verify.
mlir::LogicalResult verifyInstruction(DotOp dot);

} // namespace tessera::tile
