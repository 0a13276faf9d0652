// codegen/gpu/lower/dot/Fma.cpp - dots by fused multiply-adds.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A thread computes each of its elements of the result by a chain of
// multiply-adds in ascending k. operandLayout() gives the rows of a and the
// columns of b that the thread needs: spread over lanes and warps like acc,
// with all of K in registers. Operands of small dots are in registers. Other
// operands go to shared memory, and a loop loads some k of them at a time.
#include "codegen/gpu/lower/dot/Dot.h"
#include "codegen/gpu/lower/shared/Plans.h"
#include "codegen/gpu/lower/shared/SharedMemory.h"

#include "dialect/layout/ShapeOps.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using tessera::layout::Dim;
using tessera::layout::LinearLayout;
using tessera::layout::SharedAccess;
using tessera::layout::Span;
using tessera::layout::Word;

namespace tessera::codegen::gpu {

namespace {

// The least number of k that an iteration unrolls, if K has as many.
constexpr int64_t kUnrolled = 4;

struct Operand {
  bool isA;
  const layout::DotWords &words;

  // Returns the operand's element at `k` in the row (b: column) of acc's
  // element `acc`.
  Word of(Word acc, Word k) const {
    return isA ? words.rowOf(acc) | words.inA(k)
               : words.columnOf(acc) | words.inB(k);
  }
};

} // namespace

static layout::DotWords wordsOf(const DotCase &dot) {
  return layout::DotWords(dot.acc, dot.a.outs().back().bits);
}

// Returns the map register, lane, warp -> element of the operand that each
// thread needs. The lowest register bits are rows (b: columns), the next ones
// the bits of K.
static LinearLayout operandLayout(const DotCase &dot, const Operand &operand) {
  const LinearLayout &like = operand.isA ? dot.a : dot.b;
  std::vector<Word> columns;
  Span seen;
  for (Word column : dot.acc.columns(Dim::Register))
    if (seen.add(operand.of(column, 0)))
      columns.push_back(operand.of(column, 0));
  for (int bit = 0; bit < operand.words.k; ++bit)
    columns.push_back(operand.of(0, Word(1) << bit));
  int registers = int(columns.size());
  for (Dim dim : {Dim::Lane, Dim::Warp})
    for (Word column : dot.acc.columns(dim))
      columns.push_back(operand.of(column, 0));
  return {{{Dim::Register, registers},
           {Dim::Lane, dot.acc.inBits(Dim::Lane)},
           {Dim::Warp, dot.acc.inBits(Dim::Warp)}},
          like.outs(),
          columns};
}

static int64_t distinct(const LinearLayout &layout) {
  return int64_t(1) << layout::rankOf(layout.columns(Dim::Register));
}

bool fitsInRegisters(const DotCase &dot) {
  layout::DotWords words = wordsOf(dot);
  if ((distinct(dot.acc) << words.k) > kMostUnrolledProducts)
    return false;
  for (bool isA : {true, false}) {
    const LinearLayout &has = isA ? dot.a : dot.b;
    LinearLayout needs = operandLayout(dot, {isA, words});
    if (has.columns(Dim::Lane) != needs.columns(Dim::Lane) ||
        has.columns(Dim::Warp) != needs.columns(Dim::Warp) ||
        !Span(has.columns(Dim::Register))
             .contains(Span(needs.columns(Dim::Register))))
      return false;
  }
  return true;
}

// --- Multiply-adds -----------------------------------------------------------

static llvm::Value *widened(Emitter &e, Type element, llvm::Value *value) {
  if (element.isF16() || element.isBF16())
    return e.b.CreateFPExt(value, e.b.getFloatTy());
  if (element.isInteger(8))
    return e.b.CreateSExt(value, e.b.getInt32Ty());
  return value;
}

static llvm::Value *multiplyAdd(Emitter &e, llvm::Value *a, llvm::Value *b,
                                llvm::Value *sum) {
  if (a->getType()->isIntegerTy())
    return e.b.CreateAdd(sum, e.b.CreateMul(a, b));
  return e.intrinsic(llvm::Intrinsic::fma, {a, b, sum}, {a->getType()});
}

// Returns, for each register of acc, the value of the first register that holds
// the same element.
static Registers withCopies(Emitter &e, const DotCase &dot,
                            const Registers &values) {
  Registers result;
  for (int64_t index : e.registerSources(dot.acc))
    result.push_back(values[size_t(index)]);
  return result;
}

void emitFmaInRegisters(Emitter &e, const DotCase &dot) {
  tile::DotOp op = dot.op;
  layout::DotWords words = wordsOf(dot);
  Span inA(dot.a.columns(Dim::Register)), inB(dot.b.columns(Dim::Register));
  Operand a{true, words}, b{false, words};
  Registers values = e.get(op.getAcc());
  for (auto [index, source] : llvm::enumerate(e.registerSources(dot.acc))) {
    if (source != int64_t(index))
      continue;
    Word element = dot.acc.apply(Word(index) << dot.acc.inStart(Dim::Register));
    llvm::Value *sum = values[index];
    for (Word k = 0; k < Word(1) << words.k; ++k) {
      llvm::Value *x = e.get(op.getA())[size_t(*inA.solve(a.of(element, k)))],
                  *y = e.get(op.getB())[size_t(*inB.solve(b.of(element, k)))];
      sum = multiplyAdd(e, widened(e, dot.element, x),
                        widened(e, dot.element, y), sum);
    }
    values[index] = sum;
  }
  e.set(op, withCopies(e, dot, values));
}

// --- Through shared memory ---------------------------------------------------

namespace {

// An operand that goes through shared memory.
struct Staged {
  Staged(const DotCase &dot, const layout::DotWords &words, bool isA)
      : operand{isA, words}, source(isA ? dot.a : dot.b),
        layout(operandLayout(dot, operand)),
        registers(layout.columns(Dim::Register)),
        trip(tripOf(layout::dropReplication(source), layout,
                    bytesInMemory(dot.element))) {}

  int64_t bytes() const { return (trip->bytes() + 127) / 128 * 128; }
  // Returns the register bit for bit `bit` of k.
  int registerOf(int bit) const {
    return layout.inBits(Dim::Register) - operand.words.k + bit;
  }
  void store(Emitter &e, const Registers &values, Bits &bits,
             llvm::Value *base) const;

  Operand operand;
  LinearLayout source, layout;
  Span registers;
  std::shared_ptr<const layout::SharedTrip> trip;
};

} // namespace

int64_t stagedBytes(const DotCase &dot) {
  layout::DotWords words = wordsOf(dot);
  return Staged(dot, words, true).bytes() + Staged(dot, words, false).bytes();
}

void Staged::store(Emitter &e, const Registers &values, Bits &bits,
                   llvm::Value *base) const {
  Registers once;
  Span seen;
  for (auto [bit, column] : llvm::enumerate(source.columns(Dim::Register)))
    seen.add(column);
  LinearLayout distinct = layout::dropReplication(source);
  for (int64_t r = 0; r < distinct.inSize(Dim::Register); ++r) {
    Word element = distinct.apply(Word(r) << distinct.inStart(Dim::Register));
    once.push_back(bits.from(values[size_t(*seen.solve(element))]));
  }
  e.onlyIf(e.isFirstReplica(source),
           [&] { storeShared(e, trip->store, once, 0, base); });
}

namespace {

// Emits the loop over K. An iteration unrolls all values of the `inner` bits of
// k. The loop counter supplies the `outer` bits.
class StagedProduct {
public:
  StagedProduct(Emitter &e, const DotCase &dot, int64_t scratch)
      : e(e), dot(dot), words(wordsOf(dot)), a(dot, words, true),
        b(dot, words, false), bits(e, dot.element), baseA(e.shared(scratch)),
        baseB(e.shared(scratch + a.bytes())) {}
  void emit();

private:
  void chooseBits();
  llvm::SmallVector<llvm::Value *> load(const Staged &from, llvm::Value *base,
                                        llvm::Value *counter);
  void multiply(Registers &sums, llvm::Value *counter);

  Emitter &e;
  const DotCase &dot;
  const layout::DotWords words;
  Staged a, b;
  Bits bits;
  llvm::Value *baseA, *baseB;
  llvm::SetVector<int> inner;
  llvm::SmallVector<int> outer;
};

} // namespace

// The bits of k within a vector load are inner bits. The lowest other bits join
// them until an iteration has kUnrolled k.
void StagedProduct::chooseBits() {
  for (const Staged *side : {&a, &b})
    for (int bit = 0; bit < words.k; ++bit)
      if (llvm::is_contained(side->trip->load.vectorBits,
                             side->registerOf(bit)))
        inner.insert(bit);
  for (int bit = 0; bit < words.k; ++bit)
    if ((int64_t(1) << inner.size()) < kUnrolled)
      inner.insert(bit);
  for (int bit = 0; bit < words.k; ++bit)
    if (!inner.contains(bit))
      outer.push_back(bit);
}

llvm::SmallVector<llvm::Value *> StagedProduct::load(const Staged &from,
                                                     llvm::Value *base,
                                                     llvm::Value *counter) {
  SharedAccess access = from.trip->load;
  DynamicPart dynamic;
  dynamic.index = counter;
  for (int bit : outer) {
    int reg = from.registerOf(bit);
    dynamic.columns.push_back(access.address.column(Dim::Register, reg));
    llvm::erase(access.repeatBits, reg);
  }
  llvm::SmallVector<llvm::Value *> loaded(
      size_t(from.layout.inSize(Dim::Register)), nullptr);
  loadShared(e, access, loaded, 0, base, dynamic);
  for (llvm::Value *&value : loaded)
    if (value)
      value = widened(e, dot.element, bits.to(value));
  return loaded;
}

void StagedProduct::multiply(Registers &sums, llvm::Value *counter) {
  auto rows = load(a, baseA, counter), columns = load(b, baseB, counter);
  llvm::SmallVector<int64_t> sources = e.registerSources(dot.acc);
  for (int64_t step = 0; step < int64_t(1) << inner.size(); ++step) {
    Word k = Word(spreadBits(step, inner.getArrayRef()));
    for (auto [index, source] : llvm::enumerate(sources)) {
      if (source != int64_t(index))
        continue;
      Word element =
          dot.acc.apply(Word(index) << dot.acc.inStart(Dim::Register));
      sums[index] = multiplyAdd(
          e, rows[size_t(*a.registers.solve(a.operand.of(element, k)))],
          columns[size_t(*b.registers.solve(b.operand.of(element, k)))],
          sums[index]);
    }
  }
}

void StagedProduct::emit() {
  tile::DotOp op = dot.op;
  chooseBits();
  e.barrier();
  a.store(e, e.get(op.getA()), bits, baseA);
  b.store(e, e.get(op.getB()), bits, baseB);
  e.barrier();
  Registers sums = e.get(op.getAcc());
  if (outer.empty()) {
    multiply(sums, nullptr);
    e.set(op, withCopies(e, dot, sums));
    return;
  }
  auto &context = e.b.getContext();
  auto *before = e.b.GetInsertBlock();
  auto *body = llvm::BasicBlock::Create(context, "", e.function);
  auto *after = llvm::BasicBlock::Create(context, "", e.function);
  e.b.CreateBr(body);
  e.b.SetInsertPoint(body);
  auto *counter = e.b.CreatePHI(e.b.getInt32Ty(), 2);
  counter->addIncoming(e.i32(0), before);
  llvm::SmallVector<llvm::PHINode *> phis;
  for (llvm::Value *&sum : sums) {
    phis.push_back(e.b.CreatePHI(sum->getType(), 2));
    phis.back()->addIncoming(sum, before);
    sum = phis.back();
  }
  multiply(sums, counter);
  llvm::Value *next = e.b.CreateAdd(counter, e.i32(1));
  auto *latch = e.b.GetInsertBlock();
  counter->addIncoming(next, latch);
  for (auto [phi, sum] : llvm::zip(phis, sums))
    phi->addIncoming(sum, latch);
  e.b.CreateCondBr(e.b.CreateICmpULT(next, e.i32(int64_t(1) << outer.size())),
                   body, after);
  e.b.SetInsertPoint(after);
  e.set(op, withCopies(e, dot, sums));
}

void emitStagedFma(Emitter &e, const DotCase &dot, int64_t scratch) {
  StagedProduct(e, dot, scratch).emit();
}

} // namespace tessera::codegen::gpu
