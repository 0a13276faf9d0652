// dialect/tile/TileOps.cpp - generated op definitions and shared checks.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "dialect/tile/TileDialect.h"
#include "dialect/tile/Verify.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tessera::tile;

LogicalResult tessera::tile::verifyTileShape(Operation *op, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return success();
  int64_t elements = 1;
  for (int64_t size : tensor.getShape()) {
    if (size <= 0 || !llvm::isPowerOf2_64(size))
      return op->emitOpError("needs static power-of-two dimensions, got ")
             << tensor;
    elements *= size;
  }
  if (elements > kMaxTileElements)
    return op->emitOpError("has a tensor of ")
           << elements << " elements; the limit is " << kMaxTileElements;
  return success();
}

LogicalResult tessera::tile::verifyAxis(Operation *op, int64_t axis,
                                        int64_t rank) {
  if (axis >= 0 && axis < rank)
    return success();
  return op->emitOpError("axis ") << axis << " is outside 0.." << rank - 1;
}

// Derives the types of a load from its pointer type, the only type in the text.
static ParseResult
parseLoadTypes(OpAsmParser &parser, Type pointer,
               std::optional<OpAsmParser::UnresolvedOperand> mask,
               Type &maskType,
               std::optional<OpAsmParser::UnresolvedOperand> other,
               Type &otherType, Type &result) {
  if (!isa<PtrType>(elementType(pointer)))
    return parser.emitError(parser.getCurrentLocation(),
                            "expected a pointer or a tensor of pointers");
  result = pointeeValueType(pointer);
  if (mask)
    maskType = withElementType(pointer, parser.getBuilder().getI1Type());
  if (other)
    otherType = result;
  return success();
}

static void printLoadTypes(OpAsmPrinter &, Operation *, Type, Value, Type,
                           Value, Type, Type) {}

static ParseResult
parseMaskType(OpAsmParser &parser, Type pointer,
              std::optional<OpAsmParser::UnresolvedOperand> mask,
              Type &maskType) {
  if (mask)
    maskType = withElementType(pointer, parser.getBuilder().getI1Type());
  return success();
}

static void printMaskType(OpAsmPrinter &, Operation *, Type, Value, Type) {}

// Derives the result type of smem_index: the operand's type with one buffer.
static ParseResult parseOneBuffer(OpAsmParser &parser, Type source,
                                  Type &result) {
  auto buffers = dyn_cast<SmemType>(source);
  if (!buffers)
    return parser.emitError(parser.getCurrentLocation(), "expected !tile.smem");
  result = buffers.withBuffers(1);
  return success();
}

static void printOneBuffer(OpAsmPrinter &, Operation *, Type, Type) {}

// Enumerations are written as strings in the attribute dictionary: parseWord
// moves the entry `name` of `attrs` to `result`.
template <typename EnumAttr>
static ParseResult parseWord(OpAsmParser &parser, SMLoc where, StringRef name,
                             NamedAttrList &attrs, EnumAttr &result) {
  using Enum = decltype(result.getValue());
  Attribute given = attrs.erase(name);
  if (!given)
    return success();
  auto text = dyn_cast<StringAttr>(given);
  if (auto word = text ? symbolizeEnum<Enum>(text) : std::nullopt) {
    result = EnumAttr::get(parser.getContext(), *word);
    return success();
  }
  InFlightDiagnostic error = parser.emitError(where, "unknown `");
  error << name << "` " << given << ", expected one of";
  for (StringRef word : wordsOf<Enum>())
    error << " \"" << word << '"';
  return error;
}

template <typename EnumAttr>
static void setWord(NamedAttrList &attrs, StringRef name, EnumAttr word) {
  if (word)
    attrs.set(name, StringAttr::get(word.getContext(),
                                    stringifyEnum(word.getValue())));
}

template <typename CacheAttr>
static ParseResult parseCacheWords(OpAsmParser &parser, CacheAttr &cache,
                                   EvictionAttr &eviction,
                                   NamedAttrList &attrs) {
  SMLoc where = parser.getCurrentLocation();
  return failure(parser.parseOptionalAttrDict(attrs) ||
                 parseWord(parser, where, "cache", attrs, cache) ||
                 parseWord(parser, where, "eviction", attrs, eviction));
}

template <typename CacheAttr>
static void printCacheWords(OpAsmPrinter &printer, Operation *, CacheAttr cache,
                            EvictionAttr eviction, DictionaryAttr attrs) {
  NamedAttrList list(attrs);
  setWord(list, "cache", cache);
  setWord(list, "eviction", eviction);
  printer.printOptionalAttrDict(list, {"operandSegmentSizes"});
}

static ParseResult parseOrderWords(OpAsmParser &parser, MemSemanticAttr &sem,
                                   MemScopeAttr &scope, NamedAttrList &attrs) {
  SMLoc where = parser.getCurrentLocation();
  return failure(parser.parseOptionalAttrDict(attrs) ||
                 parseWord(parser, where, "sem", attrs, sem) ||
                 parseWord(parser, where, "scope", attrs, scope));
}

static void printOrderWords(OpAsmPrinter &printer, Operation *op,
                            MemSemanticAttr sem, MemScopeAttr scope,
                            DictionaryAttr attrs) {
  NamedAttrList list(attrs);
  setWord(list, "sem", sem);
  setWord(list, "scope", scope);
  StringRef kind = isa<AtomicRMWOp>(op) ? "kind" : "";
  printer.printOptionalAttrDict(list, {kind});
}

#define GET_OP_CLASSES
#include "dialect/tile/TileOps.cpp.inc"
