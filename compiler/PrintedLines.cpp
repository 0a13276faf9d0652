// compiler/PrintedLines.cpp - maps lines of printed IR to lines of the kernel.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/PrintedLines.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Location.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <map>

using namespace mlir;

namespace tessera::compiler {

Json placesOf(Location location) {
  Json places = Json::array();
  location->walk([&](Location each) {
    if (auto place = dyn_cast<FileLineColLoc>(each))
      places.push_back({llvm::sys::path::filename(place.getFilename()).str(),
                        place.getLine()});
    return WalkResult::advance();
  });
  return places;
}

PlacedText printWithPlaces(ModuleOp module) {
  PlacedText result;
  AsmState::LocationMap printed;
  AsmState state(module, OpPrintingFlags(), &printed);
  llvm::raw_string_ostream stream(result.text);
  module.print(stream, state);
  std::map<unsigned, Operation *> order;
  for (const auto &[op, at] : printed)
    order.emplace(at.first, op);
  result.lines = Json::array();
  for (const auto &[line, op] : order)
    if (Json places = placesOf(op->getLoc()); !places.empty())
      result.lines.push_back({line, std::move(places)});
  return result;
}

} // namespace tessera::compiler
