// codegen/math/Math.cpp - functions of libm as arithmetic.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/math/Math.h"

#include "codegen/math/MathEmitter.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/Pass.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tessera::codegen {
namespace {

using Emit1 = Value (*)(MathEmitter &, Value);

Value emitRsqrt(MathEmitter &e, Value x) {
  Value root = math::SqrtOp::create(e.builder, e.loc, x);
  return e.div(e.number(1), root);
}

// Null: no function of one operand that is replaced.
Emit1 ruleFor(Operation *op) {
  return llvm::TypeSwitch<Operation *, Emit1>(op)
      .Case<math::ExpOp>([](auto) { return emitExp; })
      .Case<math::Exp2Op>([](auto) { return emitExp2; })
      .Case<math::LogOp>([](auto) { return emitLog; })
      .Case<math::Log2Op>([](auto) { return emitLog2; })
      .Case<math::SinOp>([](auto) { return emitSin; })
      .Case<math::CosOp>([](auto) { return emitCos; })
      .Case<math::RsqrtOp>([](auto) { return emitRsqrt; })
      .Case<math::TanhOp>([](auto) { return emitTanh; })
      .Case<math::ErfOp>([](auto) { return emitErf; })
      .Default([](auto) { return nullptr; });
}

// Has an instruction (or a short sequence of them) on every target of ours.
bool isDirect(Operation *op) {
  return isa<math::FmaOp, math::SqrtOp, math::FloorOp, math::CeilOp,
             math::TruncOp, math::RoundEvenOp, math::RoundOp, math::AbsFOp,
             math::AbsIOp, math::CopySignOp, math::CtPopOp,
             math::CountLeadingZerosOp, math::CountTrailingZerosOp>(op);
}

// Whether an operation of this kind and type is replaced.
bool isKnown(Operation *op) {
  if (!ruleFor(op) && !isa<arith::RemFOp>(op))
    return false;
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  return element.isF16() || element.isBF16() || element.isF32() ||
         element.isF64();
}

void replace(OpBuilder &builder, Operation *op, bool avx512) {
  Emit1 rule = ruleFor(op);
  Type type = op->getResult(0).getType();
  Type element = getElementTypeOrSelf(type);
  bool half = element.isF16() || element.isBF16();
  builder.setInsertionPoint(op);
  Type computed = type;
  SmallVector<Value> operands(op->getOperands());
  if (half) {
    computed = builder.getF32Type();
    if (auto shape = dyn_cast<ShapedType>(type))
      computed = shape.clone(computed);
    for (Value &operand : operands)
      operand = arith::ExtFOp::create(builder, op->getLoc(), computed, operand);
  }
  MathEmitter emitter(builder, op->getLoc(), computed, avx512);
  Value result = rule ? rule(emitter, operands[0])
                      : emitRemainder(emitter, operands[0], operands[1]);
  if (half)
    result = arith::TruncFOp::create(builder, op->getLoc(), type, result);
  op->getResult(0).replaceAllUsesWith(result);
  op->erase();
}

LogicalResult rewrite(Operation *op, bool avx512) {
  if (isKnown(op)) {
    OpBuilder builder(op);
    replace(builder, op, avx512);
    return success();
  }
  if (isDirect(op))
    return success();
  if (!ruleFor(op) && !isa<arith::RemFOp>(op))
    return op->emitOpError("has no CPU implementation");
  return op->emitOpError("has no CPU implementation on ")
         << getElementTypeOrSelf(op->getResult(0).getType());
}

// Marks what a builder makes.
struct MarkExact : OpBuilder::Listener {
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    op->setAttr(kExactAttr, UnitAttr::get(op->getContext()));
  }
};

bool isOne(Value value) { return matchPattern(value, m_OneFloat()); }

// 1 / (1 + exp(v)), the core of a sigmoid: rounded step by step it is wrong by
// up to 2.5 ulp even if exp were exact.
void rewriteLogistic(arith::DivFOp division, bool avx512) {
  Type element = getElementTypeOrSelf(division.getType());
  if (!(element.isF32() || element.isF64()) || !isOne(division.getLhs()))
    return;
  auto sum = division.getRhs().getDefiningOp<arith::AddFOp>();
  if (!sum)
    return;
  Value other = sum.getLhs();
  if (isOne(other))
    other = sum.getRhs();
  else if (!isOne(sum.getRhs()))
    return;
  auto power = other.getDefiningOp<math::ExpOp>();
  if (!power)
    return;
  OpBuilder builder(division);
  MathEmitter emitter(builder, division.getLoc(), division.getType(), avx512);
  division.replaceAllUsesWith(emitLogistic(emitter, power.getOperand()));
  division.erase();
  for (Operation *op : {sum.getOperation(), power.getOperation()})
    if (op->use_empty())
      op->erase();
}

// Largest and smallest as comparisons. LLVM turns the maximum of two widened
// f16 into a widened maximum of f16, for which it then calls fmaxf.
void rewriteExtreme(Operation *op) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  Value x = op->getOperand(0), y = op->getOperand(1);
  using P = arith::CmpFPredicate;
  auto compare = [&](P predicate, Value a, Value b) -> Value {
    return arith::CmpFOp::create(builder, loc, predicate, a, b);
  };
  auto select = [&](Value condition, Value a, Value b) -> Value {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  };
  bool largest = isa<arith::MaxNumFOp, arith::MaximumFOp>(op);
  Value best = select(compare(largest ? P::OGT : P::OLT, x, y), x, y);
  // So far y where either is NaN.
  bool passesOver = isa<arith::MaxNumFOp, arith::MinNumFOp>(op);
  Value odd = passesOver ? y : x;
  best = select(compare(P::UNO, odd, odd), x, best);
  op->getResult(0).replaceAllUsesWith(best);
  op->erase();
}

bool isExtreme(Operation *op) {
  return isa<arith::MaxNumFOp, arith::MinNumFOp, arith::MaximumFOp,
             arith::MinimumFOp>(op);
}

struct RewriteMathPass
    : public PassWrapper<RewriteMathPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RewriteMathPass)
  explicit RewriteMathPass(bool avx512) : avx512(avx512) {}

  StringRef getArgument() const final { return "tessera-rewrite-math"; }
  StringRef getDescription() const final {
    return "Replace functions of libm by arithmetic";
  }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry
        .insert<arith::ArithDialect, LLVM::LLVMDialect, math::MathDialect>();
  }
  void runOnOperation() final {
    if (failed(rewriteMath(getOperation(), avx512)))
      signalPassFailure();
  }

  bool avx512;
};

} // namespace

LogicalResult rewriteMath(ModuleOp module, bool avx512) {
  module.walk([&](arith::DivFOp op) { rewriteLogistic(op, avx512); });
  SmallVector<Operation *> found, extremes;
  bool halves = false;
  module.walk([&](Operation *op) {
    if (isa<arith::ExtFOp>(op))
      halves |= getElementTypeOrSelf(op->getOperand(0)).isF16();
    if (isExtreme(op))
      extremes.push_back(op);
    if (isa_and_nonnull<math::MathDialect>(op->getDialect()) ||
        isa<arith::RemFOp>(op))
      found.push_back(op);
  });
  if (halves)
    for (Operation *op : extremes)
      rewriteExtreme(op);
  // All of them, so that one run reports everything it cannot do.
  bool failure = false;
  for (Operation *op : found)
    failure |= failed(rewrite(op, avx512));
  return failure ? mlir::failure() : success();
}

bool canRewriteFunction(Operation *op) { return isKnown(op); }

void rewriteFunction(Operation *op) {
  MarkExact mark;
  OpBuilder builder(op->getContext(), &mark);
  replace(builder, op, /*avx512=*/false);
}

std::unique_ptr<Pass> createRewriteMathPass(bool avx512) {
  return std::make_unique<RewriteMathPass>(avx512);
}

} // namespace tessera::codegen
