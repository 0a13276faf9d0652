// codegen/gpu/layouts/AssignLayouts.cpp - the passes that choose layouts.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// tessera-coalesce and tessera-dot-layouts set the attribute `tile.layout` of
// accesses and dots. tessera-assign-layouts gives every tensor a layout:
//
//     x = load p {#blocked}             x = load p : #blocked
//     y = x * 2                         y = x * 2 : #blocked
//     d = dot y, .. {#a, #b, #acc}      z = convert_layout y : #a
//                                       d = dot z, .. : #acc
#include "codegen/gpu/layouts/AccessLayouts.h"
#include "codegen/gpu/layouts/Dots.h"
#include "codegen/gpu/layouts/LayoutPropagation.h"
#include "codegen/gpu/layouts/Rewrite.h"
#include "codegen/gpu/passes/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/DebugLog.h"

using namespace mlir;

namespace tessera::codegen::gpu {

#define GEN_PASS_DEF_ASSIGNLAYOUTSPASS
#define GEN_PASS_DEF_COALESCEPASS
#define GEN_PASS_DEF_DOTLAYOUTSPASS
#include "codegen/gpu/passes/Passes.h.inc"

namespace {

// Calls `run` with every function that has a body. Emits an error if `numWarps`
// is not a power of two up to 32.
LogicalResult forKernels(ModuleOp module, int numWarps,
                         llvm::function_ref<void(func::FuncOp)> run) {
  if (numWarps < 1 || numWarps > 32 || (numWarps & (numWarps - 1)))
    return module.emitError()
           << "num_warps is a power of two up to 32, got " << numWarps;
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal())
      run(function);
  return success();
}

struct CoalescePass : public impl::CoalescePassBase<CoalescePass> {
  using Base::Base;

  void runOnOperation() final {
    if (failed(forKernels(getOperation(), numWarps,
                          [&](func::FuncOp function) { run(function); })))
      signalPassFailure();
  }
  void run(func::FuncOp function) {
    AxisInfoAnalysis axes(function->getParentOp());
    for (auto &[op, layout] : accessLayouts(function, axes, numWarps)) {
      auto attr = tile::LinearAttr::get(&getContext(), layout);
      LDBG("tessera-coalesce")
          << op->getName() << " at " << op->getLoc() << ": " << attr;
      op->setAttr(kLayoutAttr, attr);
    }
  }
};

struct DotLayoutsPass : public impl::DotLayoutsPassBase<DotLayoutsPass> {
  using Base::Base;

  void runOnOperation() final {
    if (failed(forKernels(getOperation(), numWarps,
                          [&](func::FuncOp function) { run(function); })))
      signalPassFailure();
  }
  void run(func::FuncOp function) {
    Builder builder(&getContext());
    for (auto &[dot, layouts] : dotLayouts(function, numWarps)) {
      auto attr = [&](const layout::LinearLayout &layout) -> Attribute {
        return tile::LinearAttr::get(&getContext(), layout);
      };
      SmallVector<Attribute> list;
      if (layouts.a && layouts.b)
        list = {attr(*layouts.a), attr(*layouts.b)};
      list.push_back(attr(layouts.acc));
      LDBG("tessera-dot-layouts")
          << "dot at " << dot.getLoc() << ": " << builder.getArrayAttr(list);
      dot->setAttr(kLayoutAttr, builder.getArrayAttr(list));
    }
  }
};

struct AssignLayoutsPass
    : public impl::AssignLayoutsPassBase<AssignLayoutsPass> {
  using Base::Base;

  void runOnOperation() final {
    if (failed(forKernels(getOperation(), numWarps,
                          [&](func::FuncOp function) { run(function); })))
      signalPassFailure();
  }
  void run(func::FuncOp function) {
    Anchors anchors;
    function.walk([&](Operation *op) {
      if (auto dot = dyn_cast<tile::DotOp>(op)) {
        auto list = op->getAttrOfType<ArrayAttr>(kLayoutAttr);
        Anchors::Dot &layouts = anchors.dots[op];
        if (list && list.size() == 3) {
          layouts.a = dyn_cast<tile::LinearAttr>(list[0]);
          layouts.b = dyn_cast<tile::LinearAttr>(list[1]);
        }
        if (list && !list.empty())
          layouts.acc = dyn_cast<tile::LinearAttr>(list[list.size() - 1]);
        if (!layouts.acc)
          layouts.acc = tile::LinearAttr::get(
              &getContext(),
              plainLayout(tile::shapeOf(dot.getType()), numWarps));
      } else if (Value ptr = tensorOfPointers(op)) {
        auto layout = op->getAttrOfType<tile::LinearAttr>(kLayoutAttr);
        if (!layout)
          layout = tile::LinearAttr::get(
              &getContext(),
              plainLayout(tile::shapeOf(ptr.getType()), numWarps));
        anchors.access[op] = layout;
      }
    });
    takeLayoutsOfDots(function, anchors);
    LayoutPropagation propagation(function, anchors, numWarps);
    rewriteWithLayouts(function, propagation);
    DEBUG_WITH_TYPE("tessera-assign-layouts",
                    function.walk([](tile::ConvertLayoutOp convert) {
                      LDBG("tessera-assign-layouts")
                          << "convert_layout at " << convert.getLoc() << ": "
                          << convert.getSrc().getType() << " to "
                          << convert.getType();
                    }));
  }
};

} // namespace

} // namespace tessera::codegen::gpu
