// dialect/tile/SharedType.cpp - tiles in shared memory: layout and type.
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

SharedAttr SharedAttr::get(MLIRContext *context, const LinearLayout &layout) {
  SmallVector<int64_t> shape;
  for (const layout::Extent &out : layout.outs())
    shape.push_back(int64_t(1) << out.bits);
  return get(context, shape, layout.columns(Dim::Offset));
}

LinearLayout SharedAttr::layout() const {
  layout::Extents ins = {{Dim::Offset, int(getOffsets().size())}};
  return {ins,
          layout::tileExtents(getShape().vec()),
          {getOffsets().begin(), getOffsets().end()}};
}

LogicalResult SharedAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> shape,
                                 ArrayRef<uint64_t> offsets) {
  int bits = 0;
  if (failed(verifyLayoutShape(emitError, shape, bits)))
    return failure();
  layout::Span span;
  for (uint64_t word : offsets)
    if (word >> bits || !span.add(word))
      return emitError() << "the bases of a shared layout are independent and "
                            "inside its axes";
  if (span.dim() != bits)
    return emitError() << "some element of the tile has no offset";
  return success();
}

Attribute SharedAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> shape;
  SmallVector<uint64_t> offsets;
  auto place = parser.getCurrentLocation();
  if (parser.parseLess() || parseLayoutShape(parser, shape) ||
      parser.parseComma() || parseBases(parser, "offset", shape, offsets) ||
      parser.parseGreater())
    return {};
  return parser.getChecked<SharedAttr>(place, parser.getContext(),
                                       ArrayRef<int64_t>(shape),
                                       ArrayRef<uint64_t>(offsets));
}

void SharedAttr::print(AsmPrinter &printer) const {
  printer << "<";
  llvm::interleave(getShape(), printer, "x");
  printBases(printer, "offset", getShape(), getOffsets());
  printer << ">";
}

int64_t SmemType::getBytesPerBuffer() const {
  int64_t elements = 1;
  for (int64_t size : getShape())
    elements *= size;
  return elements * bytesInMemory(getElement());
}

LogicalResult SmemType::verify(function_ref<InFlightDiagnostic()> emitError,
                               int64_t buffers, ArrayRef<int64_t> shape,
                               Type element, SharedAttr layout) {
  if (buffers < 1 || buffers > 64)
    return emitError() << "1 to 64 buffers, got " << buffers;
  if (!element.isIntOrFloat() || element.isInteger(1))
    return emitError() << "shared memory holds numbers, got " << element;
  if (layout.getShape() != shape)
    return emitError() << "the layout is of a tile of another shape";
  return success();
}

// Parses <3 x 64x32xf16, #rows>.
Type SmemType::parse(AsmParser &parser) {
  int64_t buffers = 0;
  SmallVector<int64_t> shape;
  Type element;
  SharedAttr layout;
  auto place = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseInteger(buffers) ||
      parser.parseKeyword("x") || parser.parseDimensionList(shape, false) ||
      parser.parseType(element) || parser.parseComma() ||
      parser.parseAttribute(layout) || parser.parseGreater())
    return {};
  return parser.getChecked<SmemType>(place, parser.getContext(), buffers,
                                     ArrayRef<int64_t>(shape), element, layout);
}

void SmemType::print(AsmPrinter &printer) const {
  printer << "<" << getBuffers() << " x ";
  for (int64_t size : getShape())
    printer << size << "x";
  printer << getElement() << ", " << getLayout() << ">";
}
