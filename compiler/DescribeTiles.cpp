// compiler/DescribeTiles.cpp - the layouts of the tiles of each line, as JSON.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/DescribeTiles.h"

#include "compiler/PrintedLines.h"
#include "dialect/tile/TileDialect.h"
#include "support/Json.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

#include <set>

using namespace mlir;

namespace tessera::compiler {
namespace {

std::string layoutText(const layout::LinearLayout &map) {
  using layout::Dim;
  std::string text = "linear(", separator;
  for (Dim dim : {Dim::Register, Dim::Lane, Dim::Warp, Dim::Offset}) {
    if (!map.hasIn(dim))
      continue;
    text += separator + layout::dimName(dim) + "=[";
    separator = ", ";
    for (int bit = 0; bit < map.inBits(dim); ++bit) {
      text += bit ? ",(" : "(";
      std::string comma;
      for (int64_t coordinate : map.basis(dim, bit)) {
        text += comma + std::to_string(coordinate);
        comma = ",";
      }
      text += ")";
    }
    text += "]";
  }
  return text + ")";
}

// Returns null for a type other than a tile.
Json tileOf(Type type) {
  ArrayRef<int64_t> shape;
  Type element;
  std::string layout;
  if (auto tensor = dyn_cast<RankedTensorType>(type)) {
    auto linear = dyn_cast_or_null<tile::LinearAttr>(tensor.getEncoding());
    if (!linear)
      return {};
    shape = tensor.getShape();
    element = tensor.getElementType();
    layout = layoutText(linear.layout());
  } else if (auto memory = dyn_cast<tile::SmemType>(type)) {
    shape = memory.getShape();
    element = memory.getElement();
    layout = layoutText(memory.getLayout().layout());
  } else {
    return {};
  }
  std::string name;
  llvm::raw_string_ostream(name) << element;
  const bool pointer = isa<tile::PtrType>(element);
  return {{"shape", std::vector<int64_t>(shape.begin(), shape.end())},
          {"element", pointer ? "pointer" : name},
          {"bits", pointer ? 64u : element.getIntOrFloatBitWidth()},
          {"layout", layout}};
}

} // namespace

std::string describeTiles(ModuleOp module) {
  Json list = Json::array();
  std::set<std::string> seen;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    const Json places = placesOf(op->getLoc());
    if (places.empty())
      return;
    const auto add = [&](TypeRange types) {
      bool any = false;
      for (Type type : types) {
        Json entry = tileOf(type);
        if (entry.is_null())
          continue;
        any = true;
        entry["op"] = op->getName().getStringRef().str();
        entry["places"] = places;
        if (seen.insert(entry.dump()).second)
          list.push_back(std::move(entry));
      }
      return any;
    };
    if (!add(op->getResultTypes()))
      add(op->getOperandTypes());
  });
  return list.dump(1) + "\n";
}

} // namespace tessera::compiler
