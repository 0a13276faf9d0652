// codegen/gpu/lower/Elementwise.cpp - arithmetic, register by register.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/analysis/AxisInfo.h"
#include "codegen/gpu/kernel/Contraction.h"
#include "codegen/gpu/lower/Address.h"
#include "codegen/gpu/lower/Emitter.h"
#include "codegen/gpu/lower/Families.h"
#include "codegen/math/Math.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"

using namespace mlir;

namespace tessera::codegen::gpu {

using Operands = llvm::ArrayRef<llvm::Value *>;

static llvm::Value *contractible(Operation *op, llvm::Value *value) {
  auto *instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (instruction && mayContract(op))
    instruction->setHasAllowContract(true);
  return value;
}

// Computes bf16 operations in f32 and rounds once, because sm_80 does not have
// add and mul of bf16. With `always` (quotients), does so for f16 too.
static llvm::Value *inFloat(Emitter &e, Operands in, bool always,
                            llvm::function_ref<llvm::Value *(Operands)> make) {
  llvm::Type *type = in[0]->getType();
  if (!type->isBFloatTy() && !(always && type->isHalfTy()))
    return make(in);
  Registers wide;
  for (llvm::Value *value : in)
    wide.push_back(e.b.CreateFPExt(value, e.b.getFloatTy()));
  return e.b.CreateFPTrunc(make(wide), type);
}

static llvm::Value *divide(Emitter &e, Operation *op, Operands in) {
  // At most 2 ulp (PTX ISA, "div"); the IEEE quotient costs a call.
  if (in[0]->getType()->isFloatTy() && !op->hasAttr(kExactAttr))
    return e.intrinsic(llvm::Intrinsic::nvvm_div_full, in);
  return e.b.CreateFDiv(in[0], in[1]);
}

static llvm::CmpInst::Predicate predicateOf(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  using L = llvm::CmpInst;
  switch (predicate) {
  case P::eq:
    return L::ICMP_EQ;
  case P::ne:
    return L::ICMP_NE;
  case P::slt:
    return L::ICMP_SLT;
  case P::sle:
    return L::ICMP_SLE;
  case P::sgt:
    return L::ICMP_SGT;
  case P::sge:
    return L::ICMP_SGE;
  case P::ult:
    return L::ICMP_ULT;
  case P::ule:
    return L::ICMP_ULE;
  case P::ugt:
    return L::ICMP_UGT;
  case P::uge:
    return L::ICMP_UGE;
  }
  llvm_unreachable("all predicates are above");
}

// The two enumerations of arith and LLVM list the same 16 truth tables.
static llvm::CmpInst::Predicate predicateOf(arith::CmpFPredicate predicate) {
  using P = arith::CmpFPredicate;
  using L = llvm::CmpInst;
  switch (predicate) {
  case P::AlwaysFalse:
    return L::FCMP_FALSE;
  case P::OEQ:
    return L::FCMP_OEQ;
  case P::OGT:
    return L::FCMP_OGT;
  case P::OGE:
    return L::FCMP_OGE;
  case P::OLT:
    return L::FCMP_OLT;
  case P::OLE:
    return L::FCMP_OLE;
  case P::ONE:
    return L::FCMP_ONE;
  case P::ORD:
    return L::FCMP_ORD;
  case P::UEQ:
    return L::FCMP_UEQ;
  case P::UGT:
    return L::FCMP_UGT;
  case P::UGE:
    return L::FCMP_UGE;
  case P::ULT:
    return L::FCMP_ULT;
  case P::ULE:
    return L::FCMP_ULE;
  case P::UNE:
    return L::FCMP_UNE;
  case P::UNO:
    return L::FCMP_UNO;
  case P::AlwaysTrue:
    return L::FCMP_TRUE;
  }
  llvm_unreachable("all predicates are above");
}

static llvm::Value *bitcast(Emitter &e, llvm::Value *value, llvm::Type *to) {
  llvm::Type *from = value->getType();
  if (from == to)
    return value;
  if (from->isPointerTy())
    return e.b.CreatePtrToInt(value, to);
  if (to->isPointerTy())
    return e.b.CreateIntToPtr(value, to);
  return e.b.CreateBitCast(value, to);
}

static llvm::Value *convert(Emitter &e, Operation *op, llvm::Value *value,
                            llvm::Type *to, bool towardsZero) {
  llvm::Type *from = value->getType();
  if (from == to)
    return value;
  bool fromIsNarrow = from->isHalfTy() || from->isBFloatTy();
  if (fromIsNarrow && (to->isHalfTy() || to->isBFloatTy())) {
    value = e.b.CreateFPExt(value, e.b.getFloatTy());
    from = value->getType();
  }
  if (from->getPrimitiveSizeInBits() < to->getPrimitiveSizeInBits())
    return e.b.CreateFPExt(value, to);
  if (!towardsZero)
    return e.b.CreateFPTrunc(value, to);
  // PTX ISA, "cvt": .rz.
  if (from->isFloatTy() && to->isBFloatTy())
    return e.b.CreateBitCast(e.assembly("cvt.rz.bf16.f32 $0, $1;", "=h,f",
                                        {value}, e.b.getInt16Ty(),
                                        MemoryUse::None),
                             to);
  if (from->isFloatTy() && to->isHalfTy())
    return e.b.CreateBitCast(e.assembly("cvt.rz.f16.f32 $0, $1;", "=h,f",
                                        {value}, e.b.getInt16Ty(),
                                        MemoryUse::None),
                             to);
  if (from->isDoubleTy() && to->isFloatTy())
    return e.assembly("cvt.rz.f32.f64 $0, $1;", "=f,d", {value}, to,
                      MemoryUse::None);
  e.unsupported(op, "rounding towards zero to this type");
}

// True for program id * tile size, the start of a program's tile, if it fits
// into 32 bits for every program of a grid. It is then never negative. LLVM
// turns its quotients into shifts, and the rows of a tile share one quotient
// (docs/numerics.md).
static bool isTileStart(arith::MulIOp product) {
  if (!product.getType().isInteger(32))
    return false;
  APInt size;
  auto program = product.getLhs().getDefiningOp<tile::ProgramIdOp>();
  Value other = product.getRhs();
  if (!program) {
    program = product.getRhs().getDefiningOp<tile::ProgramIdOp>();
    other = product.getLhs();
  }
  return program && matchPattern(other, m_ConstantInt(&size)) &&
         size.isStrictlyPositive() &&
         (mostPrograms(program, program.getAxis()) - 1) * size.getSExtValue() <=
             llvm::maxIntN(32);
}

// The functions below emit one result register from one register of each
// operand. They return null for operations that they do not handle.

static llvm::Value *applyInteger(Emitter &e, Operation *op, Operands in) {
  auto &b = e.b;
  return llvm::TypeSwitch<Operation *, llvm::Value *>(op)
      .Case([&](arith::AddIOp) { return b.CreateAdd(in[0], in[1]); })
      .Case([&](arith::SubIOp) { return b.CreateSub(in[0], in[1]); })
      .Case([&](arith::MulIOp product) {
        return b.CreateMul(in[0], in[1], "", /*HasNUW=*/false,
                           /*HasNSW=*/isTileStart(product));
      })
      .Case([&](arith::DivSIOp) {
        return b.CreateSDiv(in[0], e.divisors.copyOf(e, in[1]));
      })
      .Case([&](arith::DivUIOp) {
        return b.CreateUDiv(in[0], e.divisors.copyOf(e, in[1]));
      })
      .Case([&](arith::RemSIOp) {
        return b.CreateSRem(in[0], e.divisors.copyOf(e, in[1]));
      })
      .Case([&](arith::RemUIOp) {
        return b.CreateURem(in[0], e.divisors.copyOf(e, in[1]));
      })
      .Case([&](arith::AndIOp) { return b.CreateAnd(in[0], in[1]); })
      .Case([&](arith::OrIOp) { return b.CreateOr(in[0], in[1]); })
      .Case([&](arith::XOrIOp) { return b.CreateXor(in[0], in[1]); })
      .Case([&](arith::ShLIOp) { return b.CreateShl(in[0], in[1]); })
      .Case([&](arith::ShRSIOp) { return b.CreateAShr(in[0], in[1]); })
      .Case([&](arith::ShRUIOp) { return b.CreateLShr(in[0], in[1]); })
      .Case([&](arith::MaxSIOp) {
        return b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, in[0], in[1]);
      })
      .Case([&](arith::MinSIOp) {
        return b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, in[0], in[1]);
      })
      .Case([&](arith::MaxUIOp) {
        return b.CreateBinaryIntrinsic(llvm::Intrinsic::umax, in[0], in[1]);
      })
      .Case([&](arith::MinUIOp) {
        return b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, in[0], in[1]);
      })
      .Case([&](arith::CmpIOp cmp) {
        return b.CreateICmp(predicateOf(cmp.getPredicate()), in[0], in[1]);
      })
      .Default(static_cast<llvm::Value *>(nullptr));
}

static llvm::Value *applyFloat(Emitter &e, Operation *op, Operands in) {
  auto &b = e.b;
  using Maker = llvm::function_ref<llvm::Value *(Operands)>;
  auto floats = [&](Maker make) { return inFloat(e, in, false, make); };
  return llvm::TypeSwitch<Operation *, llvm::Value *>(op)
      .Case([&](arith::CmpFOp cmp) {
        return b.CreateFCmp(predicateOf(cmp.getPredicate()), in[0], in[1]);
      })
      .Case([&](arith::AddFOp) {
        return floats([&](Operands x) {
          return contractible(op, b.CreateFAdd(x[0], x[1]));
        });
      })
      .Case([&](arith::SubFOp) {
        return floats([&](Operands x) {
          return contractible(op, b.CreateFSub(x[0], x[1]));
        });
      })
      .Case([&](arith::MulFOp) {
        return floats([&](Operands x) {
          return contractible(op, b.CreateFMul(x[0], x[1]));
        });
      })
      .Case([&](arith::DivFOp) {
        return inFloat(e, in, true,
                       [&](Operands x) { return divide(e, op, x); });
      })
      .Case([&](arith::NegFOp) { return b.CreateFNeg(in[0]); })
      .Case([&](arith::MaxNumFOp) { return b.CreateMaxNum(in[0], in[1]); })
      .Case([&](arith::MinNumFOp) { return b.CreateMinNum(in[0], in[1]); })
      .Case([&](arith::MaximumFOp) { return b.CreateMaximum(in[0], in[1]); })
      .Case([&](arith::MinimumFOp) { return b.CreateMinimum(in[0], in[1]); })
      .Default(static_cast<llvm::Value *>(nullptr));
}

static llvm::Value *applyCast(Emitter &e, Operation *op, Operands in,
                              llvm::Type *type) {
  auto &b = e.b;
  return llvm::TypeSwitch<Operation *, llvm::Value *>(op)
      .Case([&](arith::ExtSIOp) { return b.CreateSExt(in[0], type); })
      .Case([&](arith::ExtUIOp) { return b.CreateZExt(in[0], type); })
      .Case([&](arith::TruncIOp) { return b.CreateTrunc(in[0], type); })
      .Case([&](arith::SIToFPOp) { return b.CreateSIToFP(in[0], type); })
      .Case([&](arith::UIToFPOp) { return b.CreateUIToFP(in[0], type); })
      .Case([&](arith::FPToSIOp) { return b.CreateFPToSI(in[0], type); })
      .Case([&](arith::FPToUIOp) { return b.CreateFPToUI(in[0], type); })
      .Case<arith::IndexCastOp>(
          [&](auto) { return b.CreateSExtOrTrunc(in[0], type); })
      .Case<arith::ExtFOp, arith::TruncFOp>(
          [&](auto) { return convert(e, op, in[0], type, false); })
      .Case([&](tile::ConvertOp cast) {
        return convert(e, op, in[0], type,
                       cast.getRounding() == tile::Rounding::RTZ);
      })
      .Case<tile::BitcastOp, arith::BitcastOp>(
          [&](auto) { return bitcast(e, in[0], type); })
      .Default(static_cast<llvm::Value *>(nullptr));
}

static llvm::Value *apply(Emitter &e, Operation *op, Operands in,
                          llvm::Type *type) {
  if (isa<arith::SelectOp>(op))
    return e.b.CreateSelect(in[0], in[1], in[2]);
  if (llvm::Value *result = applyInteger(e, op, in))
    return result;
  if (llvm::Value *result = applyFloat(e, op, in))
    return result;
  return applyCast(e, op, in, type);
}

static bool emitAddPtr(Emitter &e, tile::AddPtrOp op) {
  Type pointee =
      cast<tile::PtrType>(tile::elementType(op.getType())).getPointee();
  llvm::Type *step = e.b.getIntNTy(unsigned(bytesInMemory(pointee)) * 8);
  e.set(op, addOffsets(e, step, e.get(op.getPtr()), e.get(op.getOffset())));
  return true;
}

static bool emitConstant(Emitter &e, arith::ConstantOp op) {
  Attribute attr = op.getValue();
  if (auto dense = dyn_cast<DenseElementsAttr>(attr)) {
    if (!dense.isSplat())
      e.unsupported(op, "a constant with different elements");
    attr = dense.getSplatValue<Attribute>();
  }
  llvm::Type *type = e.typeOf(tile::elementType(op.getType()));
  llvm::Constant *value;
  if (auto number = dyn_cast<FloatAttr>(attr))
    value = llvm::ConstantFP::get(type, number.getValue());
  else
    value = llvm::ConstantInt::get(type, cast<IntegerAttr>(attr).getValue());
  e.set(op, Registers(size_t(e.numRegisters(op.getType())), value));
  return true;
}

// Emits the low and the high half of the double-width product of unsigned
// integers.
static bool emitExtendedProduct(Emitter &e, arith::MulUIExtendedOp op) {
  Registers low, high;
  for (auto [x, y] : llvm::zip(e.get(op.getLhs()), e.get(op.getRhs()))) {
    unsigned bits = x->getType()->getIntegerBitWidth();
    llvm::Type *wide = e.b.getIntNTy(2 * bits);
    llvm::Value *product =
        e.b.CreateMul(e.b.CreateZExt(x, wide), e.b.CreateZExt(y, wide));
    low.push_back(e.b.CreateTrunc(product, x->getType()));
    high.push_back(
        e.b.CreateTrunc(e.b.CreateLShr(product, bits), x->getType()));
  }
  e.set(op.getLow(), low);
  e.set(op.getHigh(), high);
  return true;
}

bool emitElementwise(Emitter &e, Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return emitConstant(e, constant);
  if (auto pointer = dyn_cast<tile::AddPtrOp>(op))
    return emitAddPtr(e, pointer);
  if (auto product = dyn_cast<arith::MulUIExtendedOp>(op))
    return emitExtendedProduct(e, product);
  if (isa<ub::PoisonOp>(op)) {
    Type type = op->getResult(0).getType();
    e.set(op->getResult(0),
          Registers(size_t(e.numRegisters(type)),
                    llvm::PoisonValue::get(e.typeOf(tile::elementType(type)))));
    return true;
  }
  if (op->getNumResults() != 1 || op->getNumRegions() ||
      isa<tile::TokenType>(op->getResult(0).getType()) ||
      !isa<arith::ArithDialect, tile::TileDialect>(op->getDialect()))
    return false;
  Value result = op->getResult(0);
  llvm::Type *type = e.typeOf(tile::elementType(result.getType()));
  size_t count = size_t(e.numRegisters(result.getType()));
  // A scalar operand, such as the condition of a select, applies to all
  // registers.
  auto operand = [&](Value value, size_t index) {
    const Registers &all = e.get(value);
    return all.size() == 1 ? all[0] : all[index];
  };
  Registers results;
  for (size_t index = 0; index < count; ++index) {
    Registers in;
    if (isa<arith::ArithDialect>(op->getDialect()) ||
        isa<tile::ConvertOp, tile::BitcastOp>(op))
      for (Value value : op->getOperands())
        in.push_back(operand(value, index));
    llvm::Value *value = apply(e, op, in, type);
    if (!value)
      return false;
    results.push_back(value);
  }
  e.set(result, results);
  return true;
}

} // namespace tessera::codegen::gpu
