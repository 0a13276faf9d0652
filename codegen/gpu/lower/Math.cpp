// codegen/gpu/lower/Math.cpp - functions of the math dialect.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// The special function unit has ex2, lg2, rsqrt, sqrt in f32; the PTX ISA and
// docs/numerics.md list their errors. Its sin, cos and tanh are not accurate
// enough: Lower.cpp replaces those by arithmetic.
#include "codegen/math/Math.h"
#include "codegen/gpu/lower/Emitter.h"
#include "codegen/gpu/lower/Families.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace mlir;

namespace tessera::codegen::gpu {

static llvm::Value *inFloat(Emitter &e, llvm::Value *x) {
  auto &b = e.b;
  return x->getType()->isFloatTy() ? x : b.CreateFPExt(x, b.getFloatTy());
}

static llvm::Value *scaled(Emitter &e, llvm::Value *x, double factor) {
  return e.b.CreateFMul(x, llvm::ConstantFP::get(x->getType(), factor));
}

// Emits a function of one f32; returns null if it does not have an instruction.
static llvm::Value *special(Emitter &e, Operation *op, llvm::Value *x) {
  namespace I = llvm::Intrinsic;
  constexpr double log2e = 1.4426950408889634, ln2 = 0.6931471805599453;
  llvm::Type *f32 = e.b.getFloatTy();
  // Without .ftz, ex2 takes three more instructions, which scale arguments
  // below -126 and square the result. As in Triton, exp2 uses .ftz and exp
  // keeps subnormal results.
  if (isa<math::Exp2Op>(op))
    return e.intrinsic(I::nvvm_ex2_approx_ftz, {x}, {f32});
  if (isa<math::ExpOp>(op))
    return e.intrinsic(I::nvvm_ex2_approx, {scaled(e, x, log2e)}, {f32});
  if (isa<math::Log2Op>(op))
    return e.intrinsic(I::nvvm_lg2_approx_f, {x});
  if (isa<math::LogOp>(op))
    return scaled(e, e.intrinsic(I::nvvm_lg2_approx_f, {x}), ln2);
  if (isa<math::SqrtOp>(op))
    return op->hasAttr(kExactAttr) ? e.b.CreateUnaryIntrinsic(I::sqrt, x)
                                   : e.intrinsic(I::nvvm_sqrt_approx_f, {x});
  if (isa<math::RsqrtOp>(op))
    return e.intrinsic(I::nvvm_rsqrt_approx_f, {x});
  return nullptr;
}

static llvm::Value *apply(Emitter &e, Operation *op,
                          llvm::ArrayRef<llvm::Value *> in) {
  auto &b = e.b;
  namespace I = llvm::Intrinsic;
  using Result = llvm::Value *;
  if (Result direct =
          llvm::TypeSwitch<Operation *, Result>(op)
              .Case([&](math::AbsFOp) {
                return b.CreateUnaryIntrinsic(I::fabs, in[0]);
              })
              .Case([&](math::AbsIOp) {
                return b.CreateBinaryIntrinsic(I::abs, in[0], b.getFalse());
              })
              .Case([&](math::FloorOp) {
                return b.CreateUnaryIntrinsic(I::floor, in[0]);
              })
              .Case([&](math::CeilOp) {
                return b.CreateUnaryIntrinsic(I::ceil, in[0]);
              })
              .Case([&](math::TruncOp) {
                return b.CreateUnaryIntrinsic(I::trunc, in[0]);
              })
              .Case([&](math::RoundEvenOp) {
                return b.CreateUnaryIntrinsic(I::roundeven, in[0]);
              })
              .Case([&](math::RoundOp) {
                return b.CreateUnaryIntrinsic(I::round, in[0]);
              })
              .Case([&](math::CtPopOp) {
                return b.CreateUnaryIntrinsic(I::ctpop, in[0]);
              })
              .Case([&](math::CountLeadingZerosOp) {
                return b.CreateBinaryIntrinsic(I::ctlz, in[0], b.getFalse());
              })
              .Case([&](math::CopySignOp) {
                return b.CreateBinaryIntrinsic(I::copysign, in[0], in[1]);
              })
              .Default(Result()))
    return direct;
  llvm::Type *type = in[0]->getType();
  if (isa<math::FmaOp>(op)) {
    bool narrow = type->isHalfTy() || type->isBFloatTy();
    llvm::Value *x = in[0], *y = in[1], *z = in[2];
    if (narrow) {
      x = inFloat(e, x);
      y = inFloat(e, y);
      z = inFloat(e, z);
    }
    llvm::Value *sum = b.CreateIntrinsic(I::fma, {x->getType()}, {x, y, z});
    return narrow ? b.CreateFPTrunc(sum, type) : sum;
  }
  if (type->isDoubleTy()) {
    if (isa<math::SqrtOp>(op))
      return b.CreateUnaryIntrinsic(I::sqrt, in[0]);
    return nullptr;
  }
  if (!type->isFloatingPointTy())
    return nullptr;
  llvm::Value *value = special(e, op, inFloat(e, in[0]));
  return value && value->getType() != type ? b.CreateFPTrunc(value, type)
                                           : value;
}

bool emitMath(Emitter &e, Operation *op) {
  if (!isa<math::MathDialect>(op->getDialect()) || op->getNumResults() != 1)
    return false;
  Registers results;
  for (int64_t index = 0; index < e.numRegisters(op->getResult(0).getType());
       ++index) {
    Registers in;
    for (Value value : op->getOperands())
      in.push_back(e.get(value)[size_t(index)]);
    llvm::Value *value = apply(e, op, in);
    if (!value)
      e.unsupported(op,
                    "`" + op->getName().getStringRef().str() +
                        "` of this type cannot be compiled for a GPU",
                    "compute it in f32");
    results.push_back(value);
  }
  e.set(op->getResult(0), results);
  return true;
}

} // namespace tessera::codegen::gpu
