// codegen/gpu/layouts/AssignLayouts.cpp - the passes that choose and assign.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/layouts/Access.h"
#include "codegen/gpu/layouts/Dots.h"
#include "codegen/gpu/layouts/LayoutPropagation.h"
#include "codegen/gpu/layouts/Passes.h"
#include "codegen/gpu/layouts/Rewrite.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace tessera::codegen::gpu {
namespace {

// What the passes here have in common.
template <typename Derived>
struct LayoutPass : public PassWrapper<Derived, OperationPass<ModuleOp>> {
  LayoutPass() = default;
  explicit LayoutPass(int warps) { numWarps = warps; }
  LayoutPass(const LayoutPass &other)
      : PassWrapper<Derived, OperationPass<ModuleOp>>(other) {}

  Pass::Option<int> numWarps{*this, "num-warps",
                             llvm::cl::desc("warps of a block, a power of two"),
                             llvm::cl::init(4)};

  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<tile::TileDialect>();
  }
  void runOnOperation() final {
    ModuleOp module = this->getOperation();
    if (numWarps < 1 || numWarps > 32 || (numWarps & (numWarps - 1))) {
      module.emitError() << "num_warps is a power of two up to 32, got "
                         << int(numWarps);
      return this->signalPassFailure();
    }
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal())
        static_cast<Derived *>(this)->run(function);
  }
};

struct CoalescePass : public LayoutPass<CoalescePass> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CoalescePass)
  using LayoutPass::LayoutPass;

  StringRef getArgument() const final { return "tessera-coalesce"; }
  StringRef getDescription() const final {
    return "Choose layouts for loads, stores and atomics";
  }
  void run(func::FuncOp function) {
    AxisInfoAnalysis axes(function->getParentOp());
    for (auto &[op, layout] : accessLayouts(function, axes, numWarps))
      op->setAttr(kLayoutAttr, tile::LinearAttr::get(&getContext(), layout));
  }
};

struct DotLayoutsPass : public LayoutPass<DotLayoutsPass> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DotLayoutsPass)
  using LayoutPass::LayoutPass;

  StringRef getArgument() const final { return "tessera-dot-layouts"; }
  StringRef getDescription() const final {
    return "Choose layouts for dots: tensor cores, warps along M and N";
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
      dot->setAttr(kLayoutAttr, builder.getArrayAttr(list));
    }
  }
};

struct AssignLayoutsPass : public LayoutPass<AssignLayoutsPass> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AssignLayoutsPass)
  using LayoutPass::LayoutPass;

  StringRef getArgument() const final { return "tessera-assign-layouts"; }
  StringRef getDescription() const final {
    return "Give every tensor a layout, with few conversions";
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
    LayoutPropagation propagation(function, anchors, numWarps);
    rewriteWithLayouts(function, propagation);
  }
};

} // namespace

std::unique_ptr<Pass> createCoalescePass(int numWarps) {
  return std::make_unique<CoalescePass>(numWarps);
}
std::unique_ptr<Pass> createDotLayoutsPass(int numWarps) {
  return std::make_unique<DotLayoutsPass>(numWarps);
}
std::unique_ptr<Pass> createAssignLayoutsPass(int numWarps) {
  return std::make_unique<AssignLayoutsPass>(numWarps);
}

void registerLayoutPasses() {
  registerPass([] { return createDotInstructionsPass(); });
  registerSwapOperandsPass();
  PassRegistration<CoalescePass>();
  PassRegistration<DotLayoutsPass>();
  PassRegistration<AssignLayoutsPass>();
  registerPass([] { return createVectorWidthsPass(); });
  registerPass([] { return createTrimWarpsPass(4); });
  registerPass([] { return createMaskLoadsPass(); });
}

} // namespace tessera::codegen::gpu
