// codegen/gpu/lower/dot/Mma.cpp - dots on tensor cores by mma.sync.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// See PTX ISA, "mma". f32 operands are not rounded to tf32, as in Triton: the
// hardware ignores their low 13 bits. With tf32x3, an operand is the sum of two
// tf32 numbers, x = big + small. The products small * big, big * small and
// big * big are added in this order; small * small is left out.
#include "codegen/gpu/lower/dot/Dot.h"
#include "codegen/gpu/lower/shared/SmemTile.h"
#include "dialect/tile/DotInstruction.h"

#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace mlir;

namespace tessera::codegen::gpu {

namespace {

class Products {
public:
  Products(Emitter &e, const DotCase &dot)
      : e(e), dot(dot), plan(tile::mmaPlanOf(dot.op)), bits(e, dot.element) {
    for (bool isA : {true, false})
      if (tile::SmemLoadOp load = loadReadByDot(source(isA)))
        tiles[isA ? 0 : 1].emplace(e, load);
  }
  void emit();

private:
  // Returns the operand of the dot that the instruction reads as A (B).
  Value source(bool isA) const {
    tile::DotOp op = dot.op;
    return isA != plan.swapped ? op.getA() : op.getB();
  }
  // Returns the registers of a fragment. `part` is 0 for the elements; with
  // tf32x3, it is 1 for the big and 2 for the small summand.
  const Registers &words(bool isA, int fragment, int part);
  llvm::Value *operand(bool isA, int index);
  llvm::Value *rounded(llvm::Value *value);

  Emitter &e;
  const DotCase &dot;
  const layout::MmaPlan plan;
  Bits bits;
  std::optional<SmemTile> tiles[2]; // of A and B in shared memory
  std::map<std::tuple<bool, int, int>, Registers> known;
};

} // namespace

static llvm::Intrinsic::ID intrinsicOf(const DotCase &dot) {
  using namespace llvm::Intrinsic;
  tile::DotOp op = dot.op;
  switch (*op.getInstruction()) {
  case tile::DotInstruction::MmaM16N8K16:
    return dot.element.isF16() ? nvvm_mma_m16n8k16_row_col_f32_f32
                               : nvvm_mma_m16n8k16_row_col_bf16;
  case tile::DotInstruction::MmaM16N8K8:
    return nvvm_mma_m16n8k8_row_col_tf32;
  case tile::DotInstruction::MmaM16N8K32:
    return nvvm_mma_m16n8k32_row_col_s8;
  case tile::DotInstruction::MmaM8N8K4:
    return nvvm_mma_m8n8k4_row_col_f64;
  case tile::DotInstruction::Fma:
    break;
  }
  llvm_unreachable("fma is not an instruction of tensor cores");
}

// Rounds to the nearest tf32, in an f32 register (PTX ISA, "cvt").
llvm::Value *Products::rounded(llvm::Value *value) {
  llvm::Value *word = e.intrinsic(llvm::Intrinsic::nvvm_f2tf32_rna, {value});
  return e.b.CreateBitCast(word, e.b.getFloatTy());
}

llvm::Value *Products::operand(bool isA, int index) {
  if (auto &tile = tiles[isA ? 0 : 1])
    return tile->at(index);
  return e.get(source(isA))[size_t(index)];
}

const Registers &Products::words(bool isA, int fragment, int part) {
  Registers &result = known[{isA, fragment, part}];
  if (!result.empty())
    return result;
  llvm::ArrayRef<int> list = (isA ? plan.a : plan.b)[size_t(fragment)];
  Registers values;
  for (int index : list) {
    llvm::Value *value = operand(isA, index);
    if (part) {
      llvm::Value *big = rounded(value);
      if (part == 2) {
        // The small summand of an infinity is zero; inf - inf would be NaN.
        llvm::Value *rest = e.b.CreateFSub(value, big);
        value = rounded(
            e.b.CreateSelect(e.b.CreateFCmpUNO(rest, rest),
                             llvm::ConstantFP::get(e.b.getFloatTy(), 0), rest));
      } else {
        value = big;
      }
    }
    values.push_back(value);
  }
  if (dot.element.isF64())
    return result = values;
  values = bits.from(values);
  size_t each = size_t(32 / bits.width());
  auto *pair = llvm::FixedVectorType::get(e.b.getHalfTy(), 2);
  for (size_t i = 0; i < values.size(); i += each) {
    llvm::Value *word = packWord(e, llvm::ArrayRef(values).slice(i, each));
    result.push_back(dot.element.isF16() ? e.b.CreateBitCast(word, pair)
                                         : word);
  }
  return result;
}

void Products::emit() {
  tile::DotOp op = dot.op;
  Registers acc = e.get(op.getAcc());
  const llvm::Intrinsic::ID instruction = intrinsicOf(dot);
  llvm::SmallVector<std::pair<int, int>> parts = {{0, 0}};
  if (dot.element.isF32() && op.getPrecision() == tile::Precision::TF32x3)
    parts = {{2, 1}, {1, 2}, {1, 1}};
  // The instruction also computes the replicas in a fragment. Each result goes
  // back to the register of its addend, so that no moves are needed.
  std::vector<Registers> sums(plan.acc.size());
  for (const layout::MmaPlan::Step &step : plan.steps) {
    llvm::ArrayRef<int> fragment = plan.acc[size_t(step.acc)];
    Registers &sum = sums[size_t(step.acc)];
    if (sum.empty())
      for (int index : fragment)
        sum.push_back(acc[size_t(index)]);
    for (auto [partA, partB] : parts) {
      Registers operands = words(true, step.a, partA);
      llvm::append_range(operands, words(false, step.b, partB));
      llvm::append_range(operands, sum);
      // All lanes of the warp execute it, so it must not move into a branch.
      auto *product =
          llvm::cast<llvm::CallInst>(e.intrinsic(instruction, operands));
      product->setConvergent();
      for (auto [i, element] : llvm::enumerate(sum))
        element = e.b.CreateExtractValue(product, unsigned(i));
    }
  }
  for (auto [fragment, sum] : llvm::zip(plan.acc, sums))
    if (!sum.empty())
      for (auto [index, element] : llvm::zip(fragment, sum))
        acc[size_t(index)] = element;
  Registers result;
  for (int index : plan.results)
    result.push_back(acc[size_t(index)]);
  e.set(op, result);
}

void emitMma(Emitter &e, const DotCase &dot) { Products(e, dot).emit(); }

} // namespace tessera::codegen::gpu
