// codegen/gpu/lower/SharedBuffers.cpp - lists the buffers of shared memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/lower/SharedBuffers.h"

#include "codegen/gpu/memory/Scratch.h"
#include "dialect/tile/TileDialect.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Location.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace mlir;

namespace tessera::codegen::gpu {
namespace {

// Returns the line in the kernel; for a line of a helper, the line of the
// outermost call; 0 if the location does not have a line.
uint32_t lineOf(Location location) {
  if (auto call = dyn_cast<CallSiteLoc>(location))
    if (const uint32_t line = lineOf(call.getCaller()))
      return line;
  uint32_t line = 0;
  location->walk([&](Location each) {
    auto place = dyn_cast<FileLineColLoc>(each);
    if (!place)
      return WalkResult::advance();
    line = place.getLine();
    return WalkResult::interrupt();
  });
  return line;
}

// Returns "3 x 64x32xf16" for "!tile.smem<3 x 64x32xf16, #tile...>".
std::string shapeOf(tile::SmemType type) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  mlir::Type(type).print(stream);
  const size_t open = text.find('<'), end = text.find(',', open);
  return open == text.npos || end == text.npos
             ? text
             : text.substr(open + 1, end - open - 1);
}

} // namespace

std::vector<ptx::SharedBuffer> sharedBuffers(ModuleOp module) {
  std::vector<ptx::SharedBuffer> result;
  module.walk([&](Operation *op) {
    auto part = gpu::sharedPartOf(op);
    if (!part)
      return;
    ptx::SharedBuffer buffer;
    buffer.offset = uint64_t(part->first);
    buffer.bytes = uint64_t(part->second - part->first);
    buffer.line = lineOf(op->getLoc());
    if (auto alloc = dyn_cast<tile::SmemAllocOp>(op))
      buffer.name = "buffer of " + shapeOf(alloc.getType());
    else
      buffer.name = "scratch of " + op->getName().getStringRef().str();
    result.push_back(std::move(buffer));
  });
  const auto key = [](const ptx::SharedBuffer &b) {
    return std::tuple(b.offset, ~b.bytes, b.line, b.name);
  };
  std::sort(result.begin(), result.end(),
            [&](const ptx::SharedBuffer &a, const ptx::SharedBuffer &b) {
              return key(a) < key(b);
            });
  result.erase(
      std::unique(result.begin(), result.end(),
                  [&](const ptx::SharedBuffer &a, const ptx::SharedBuffer &b) {
                    return key(a) == key(b);
                  }),
      result.end());
  return result;
}

std::string describeBuffers(const std::vector<ptx::SharedBuffer> &buffers) {
  std::vector<ptx::SharedBuffer> order = buffers;
  std::stable_sort(order.begin(), order.end(),
                   [](const ptx::SharedBuffer &a, const ptx::SharedBuffer &b) {
                     return a.bytes > b.bytes;
                   });
  constexpr size_t most = 4;
  std::string text;
  for (size_t i = 0; i < std::min(order.size(), most); ++i)
    text +=
        (i ? ", " : "") + std::to_string(order[i].bytes) + " for the " +
        order[i].name +
        (order[i].line ? " (line " + std::to_string(order[i].line) + ")" : "");
  if (order.size() > most)
    text += " and " + std::to_string(order.size() - most) + " more";
  return text;
}

} // namespace tessera::codegen::gpu
