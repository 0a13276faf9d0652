// dialect/tile/LayoutAttr.cpp - the layout attribute: text, checks, conversion.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "dialect/tile/LayoutText.h"
#include "dialect/tile/TileDialect.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;
using layout::Dim;
using layout::LinearLayout;

static const std::vector<Dim> &placeDims() {
  static const std::vector<Dim> dims = {Dim::Register, Dim::Lane, Dim::Warp};
  return dims;
}

LinearAttr LinearAttr::get(MLIRContext *context, const LinearLayout &layout) {
  SmallVector<int64_t> shape;
  for (const layout::Extent &out : layout.outs())
    shape.push_back(int64_t(1) << out.bits);
  SmallVector<uint64_t> words[3];
  for (auto [dim, list] : llvm::zip(placeDims(), words))
    if (layout.hasIn(dim))
      llvm::append_range(list, layout.columns(dim));
  return get(context, shape, words[0], words[1], words[2]);
}

LinearLayout LinearAttr::layout() const {
  layout::Extents ins = {{Dim::Register, int(getRegisters().size())},
                         {Dim::Lane, int(getLanes().size())},
                         {Dim::Warp, int(getWarps().size())}};
  std::vector<layout::Word> columns(getRegisters().begin(),
                                    getRegisters().end());
  llvm::append_range(columns, getLanes());
  llvm::append_range(columns, getWarps());
  return {ins, layout::tileExtents(getShape().vec()), columns};
}

LogicalResult
tile::verifyLayoutShape(function_ref<InFlightDiagnostic()> emitError,
                        ArrayRef<int64_t> shape, int &bits) {
  if (shape.empty() || shape.size() > size_t(layout::maxRank))
    return emitError() << "a layout has 1 to " << layout::maxRank << " axes";
  bits = 0;
  for (int64_t size : shape) {
    if (size <= 0 || !llvm::isPowerOf2_64(size) || size > kMaxTileElements)
      return emitError() << "the axes of a layout are powers of two up to "
                         << kMaxTileElements << ", got " << size;
    bits += int(llvm::Log2_64(size));
  }
  if (bits > 40)
    return emitError() << "the tile of a layout has at most 2^40 elements";
  return success();
}

LogicalResult LinearAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> shape,
                                 ArrayRef<uint64_t> registers,
                                 ArrayRef<uint64_t> lanes,
                                 ArrayRef<uint64_t> warps) {
  int bits = 0;
  if (failed(verifyLayoutShape(emitError, shape, bits)))
    return failure();
  if (registers.size() > 20 || lanes.size() != 5 || warps.size() > 5)
    return emitError() << "a layout has at most 20 register bits, 5 lane bits "
                          "and at most 5 warp bits";
  layout::Span span;
  for (ArrayRef<uint64_t> list : {registers, lanes, warps})
    for (uint64_t word : list) {
      if (word >> bits)
        return emitError() << "a basis is outside of the layout's axes";
      span.add(word);
    }
  if (span.dim() != bits)
    return emitError() << "some element of the tile has no place";
  return success();
}

LogicalResult
LinearAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                           function_ref<InFlightDiagnostic()> emitError) const {
  if (shape == getShape())
    return success();
  return emitError() << "the layout is of a tile of another shape";
}

ParseResult tile::parseBases(AsmParser &parser, StringRef name,
                             ArrayRef<int64_t> shape,
                             SmallVectorImpl<uint64_t> &words) {
  if (parser.parseKeyword(name) || parser.parseEqual())
    return failure();
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Square, [&]() -> ParseResult {
        uint64_t word = 0;
        size_t axis = 0;
        int start = 0;
        auto place = parser.getCurrentLocation();
        if (parser.parseCommaSeparatedList(
                AsmParser::Delimiter::Square, [&]() -> ParseResult {
                  int64_t value = 0;
                  auto here = parser.getCurrentLocation();
                  if (parser.parseInteger(value))
                    return failure();
                  if (axis >= shape.size() || value < 0 || value >= shape[axis])
                    return parser.emitError(here, "outside the layout's axes");
                  word |= uint64_t(value) << start;
                  start += int(llvm::Log2_64(shape[axis++]));
                  return success();
                }))
          return failure();
        if (axis != shape.size())
          return parser.emitError(place,
                                  "one coordinate for each axis is needed");
        words.push_back(word);
        return success();
      });
}

ParseResult tile::parseLayoutShape(AsmParser &parser,
                                   SmallVectorImpl<int64_t> &shape) {
  auto place = parser.getCurrentLocation();
  if (parser.parseDimensionList(shape, /*allowDynamic=*/false,
                                /*withTrailingX=*/false))
    return failure();
  for (int64_t size : shape)
    if (size <= 0 || !llvm::isPowerOf2_64(size) || size > kMaxTileElements ||
        shape.size() > size_t(layout::maxRank))
      return parser.emitError(place, "not the shape of a tile");
  return success();
}

void tile::printBases(AsmPrinter &printer, StringRef name,
                      ArrayRef<int64_t> shape, ArrayRef<uint64_t> words) {
  printer << ", " << name << " = [";
  llvm::interleaveComma(words, printer, [&](uint64_t word) {
    printer << "[";
    llvm::interleaveComma(shape, printer, [&](int64_t size) {
      printer << (word & uint64_t(size - 1));
      word >>= llvm::Log2_64(size);
    });
    printer << "]";
  });
  printer << "]";
}

Attribute LinearAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> shape;
  SmallVector<uint64_t> registers, lanes, warps;
  auto place = parser.getCurrentLocation();
  if (parser.parseLess() || parseLayoutShape(parser, shape) ||
      parser.parseComma() || parseBases(parser, "register", shape, registers) ||
      parser.parseComma() || parseBases(parser, "lane", shape, lanes) ||
      parser.parseComma() || parseBases(parser, "warp", shape, warps) ||
      parser.parseGreater())
    return {};
  return parser.getChecked<LinearAttr>(
      place, parser.getContext(), ArrayRef<int64_t>(shape),
      ArrayRef<uint64_t>(registers), ArrayRef<uint64_t>(lanes),
      ArrayRef<uint64_t>(warps));
}

void LinearAttr::print(AsmPrinter &printer) const {
  printer << "<";
  llvm::interleave(getShape(), printer, "x");
  printBases(printer, "register", getShape(), getRegisters());
  printBases(printer, "lane", getShape(), getLanes());
  printBases(printer, "warp", getShape(), getWarps());
  printer << ">";
}
