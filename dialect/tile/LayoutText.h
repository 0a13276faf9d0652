// dialect/tile/LayoutText.h - parsers and printers of layouts.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mlir/IR/OpImplementation.h"

namespace tessera::tile {

/// Verifies that each axis is a power of two and that there are not too many
/// axes. Sets `bits` to the sum of the bits of all axes.
mlir::LogicalResult
verifyLayoutShape(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
                  llvm::ArrayRef<int64_t> shape, int &bits);

/// Parses a shape such as 16x8.
mlir::ParseResult parseLayoutShape(mlir::AsmParser &parser,
                                   llvm::SmallVectorImpl<int64_t> &shape);

/// Parses name = [[0, 1], [8, 0]]. The text has the coordinates of each basis;
/// `words` receives the flat words of layout::LinearLayout.
mlir::ParseResult parseBases(mlir::AsmParser &parser, llvm::StringRef name,
                             llvm::ArrayRef<int64_t> shape,
                             llvm::SmallVectorImpl<uint64_t> &words);

/// Prints ", " and the text that parseBases reads.
void printBases(mlir::AsmPrinter &printer, llvm::StringRef name,
                llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<uint64_t> words);

} // namespace tessera::tile
