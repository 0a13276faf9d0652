// dialect/tile/DotInstruction.cpp - the instruction of a dot on a GPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "dialect/tile/DotInstruction.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

// PTX ISA, "Matrix multiply-accumulate operation using mma instruction".
std::optional<DotInstruction> tile::mmaFor(Type element, Precision precision) {
  if (element.isF16() || element.isBF16())
    return DotInstruction::MmaM16N8K16;
  if (element.isF32() && precision != Precision::IEEE)
    return DotInstruction::MmaM16N8K8;
  if (element.isInteger(8))
    return DotInstruction::MmaM16N8K32;
  if (element.isF64())
    return DotInstruction::MmaM8N8K4;
  return std::nullopt;
}

std::optional<layout::MmaShape> tile::shapeOf(DotInstruction instruction) {
  switch (instruction) {
  case DotInstruction::Fma:
    return std::nullopt;
  case DotInstruction::MmaM16N8K16:
    return layout::MmaShape{16, 8, 16, 2};
  case DotInstruction::MmaM16N8K8:
    return layout::MmaShape{16, 8, 8, 1};
  case DotInstruction::MmaM16N8K32:
    return layout::MmaShape{16, 8, 32, 4};
  case DotInstruction::MmaM8N8K4:
    return layout::MmaShape{8, 8, 4, 1};
  }
  llvm_unreachable("every instruction has a shape");
}

std::optional<layout::MmaShape> tile::mmaShapeOf(DotOp dot) {
  auto instruction = dot.getInstruction();
  return instruction ? shapeOf(*instruction) : std::nullopt;
}

static std::optional<layout::MmaPlan> planOf(DotOp dot,
                                             DotInstruction instruction) {
  return layout::planMma(layoutOf(dot.getA().getType()).layout(),
                         layoutOf(dot.getB().getType()).layout(),
                         layoutOf(dot.getType()).layout(),
                         *shapeOf(instruction));
}

layout::MmaPlan tile::mmaPlanOf(DotOp dot) {
  auto plan = planOf(dot, *dot.getInstruction());
  assert(plan && "the verifier accepts no other layouts");
  return std::move(*plan);
}

static bool hasLayouts(DotOp dot) {
  return layoutOf(dot.getA().getType()) && layoutOf(dot.getB().getType()) &&
         layoutOf(dot.getType());
}

// Returns the instruction that types, precision and K allow, without regard to
// layouts.
static DotChoice choiceByTypes(DotOp dot) {
  Type element = elementType(dot.getA().getType());
  auto mma = mmaFor(element, dot.getPrecision());
  if (!mma)
    return {DotInstruction::Fma,
            element.isF32() ? FmaReason::IEEE : FmaReason::Type};
  if (tile::shapeOf(dot.getA().getType()).back() < shapeOf(*mma)->k)
    return {DotInstruction::Fma, FmaReason::ShortK};
  return {*mma, std::nullopt};
}

DotChoice tile::chooseInstruction(DotOp dot) {
  DotChoice choice = choiceByTypes(dot);
  if (!choice.reason && hasLayouts(dot) && !planOf(dot, choice.instruction))
    return {DotInstruction::Fma, FmaReason::Layout};
  return choice;
}

LogicalResult tile::verifyInstruction(DotOp dot) {
  auto instruction = dot.getInstruction();
  auto reason = dot.getReason();
  if (!instruction)
    return reason ? dot.emitOpError("has a reason for fma but no instruction")
                  : success();
  if (*instruction == DotInstruction::Fma) {
    if (!reason)
      return dot.emitOpError("runs as fma and does not say why: write "
                             "`because` and the reason");
    const DotChoice choice = choiceByTypes(dot);
    if (*reason != FmaReason::Layout && reason != choice.reason)
      return dot.emitOpError("runs as fma because `")
             << stringifyFmaReason(*reason) << "`, which its operands are not";
    return success();
  }
  const std::string name = stringifyDotInstruction(*instruction).str();
  if (reason)
    return dot.emitOpError("has a reason for fma but runs by ") << name;
  Type element = elementType(dot.getA().getType());
  if (mmaFor(element, dot.getPrecision()) != instruction)
    return dot.emitOpError()
           << name << " does not multiply " << element << " with precision "
           << stringifyPrecision(dot.getPrecision());
  const int64_t k = tile::shapeOf(dot.getA().getType()).back();
  if (k < shapeOf(*instruction)->k)
    return dot.emitOpError("sums over ")
           << k << ", " << name << " over " << shapeOf(*instruction)->k;
  if (hasLayouts(dot) && !planOf(dot, *instruction))
    return dot.emitOpError("has layouts in which the lanes lack elements of "
                           "the fragments of ")
           << name;
  return success();
}
