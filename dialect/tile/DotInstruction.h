// dialect/tile/DotInstruction.h - the instruction of a dot on a GPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// The only table of tensor-core instructions. tessera-dot-instructions queries
// it once per dot; later passes and the lowering read the dot's attribute.
#pragma once

#include "dialect/layout/MmaPlan.h"
#include "dialect/tile/TileDialect.h"

#include <optional>

namespace tessera::tile {

struct DotChoice {
  DotInstruction instruction = DotInstruction::Fma;
  std::optional<FmaReason> reason; // set only for Fma
};

/// Returns the instruction for `dot`, from its types, its precision, the size
/// of K and, if its tensors have layouts, the layouts. A dot may have fewer
/// rows and columns than the instruction: surplus lanes then hold replicas.
DotChoice chooseInstruction(DotOp dot);

/// Returns the tensor-core instruction for elements of the type; nullopt if
/// tensor cores do not support them.
std::optional<DotInstruction> mmaFor(mlir::Type element, Precision precision);

/// Returns the shape of a tensor-core instruction; nullopt for Fma.
std::optional<layout::MmaShape> shapeOf(DotInstruction instruction);

/// Returns the shape of the instruction of `dot`; nullopt for Fma and before
/// tessera-dot-instructions.
std::optional<layout::MmaShape> mmaShapeOf(DotOp dot);

/// Returns the fragments of `dot`. Its tensors must have layouts and its
/// instruction must be one of tensor cores; the verifier checks that a plan
/// exists.
layout::MmaPlan mmaPlanOf(DotOp dot);

/// Verifies that the attributes fit the types and layouts; see DotOp::verify.
mlir::LogicalResult verifyInstruction(DotOp dot);

} // namespace tessera::tile
