// dialect/tile/LayoutText.h - how layouts are written.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mlir/IR/OpImplementation.h"

namespace tessera::tile {

/// A power of two an axis, few enough axes; `bits` of all of them together.
mlir::LogicalResult
verifyLayoutShape(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
                  llvm::ArrayRef<int64_t> shape, int &bits);

/// 16x8
mlir::ParseResult parseLayoutShape(mlir::AsmParser &parser,
                                   llvm::SmallVectorImpl<int64_t> &shape);

/// name = [[0, 1], [8, 0]]: coordinates, in the text, of words as in
/// layout::LinearLayout.
mlir::ParseResult parseBases(mlir::AsmParser &parser, llvm::StringRef name,
                             llvm::ArrayRef<int64_t> shape,
                             llvm::SmallVectorImpl<uint64_t> &words);

/// The same, after ", ".
void printBases(mlir::AsmPrinter &printer, llvm::StringRef name,
                llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<uint64_t> words);

} // namespace tessera::tile
