// tests/unit/codegen/AxisInfoRandomTest.cpp - every claim against brute force.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Random programs of integer and pointer operations are executed here, element
// by element, with random arguments that keep what their attributes promise:
// small ones, negative ones, and such that sums wrap. Whatever AxisInfo claims
// of a value must hold for the elements it takes, in every iteration of every
// loop.
#include "codegen/analysis/AxisInfo.h"
#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include "gtest/gtest.h"

#include <map>
#include <random>

using namespace tessera;
using namespace tessera::codegen;
using namespace mlir;

namespace {

struct Elements {
  std::vector<int64_t> shape;
  std::vector<int64_t> values;
};

// A claim was wrong, and has been reported.
struct Wrong {};

// Executes a function and checks the claims about every value.
class Machine {
public:
  Machine(const AxisInfoAnalysis &analysis, std::vector<int64_t> program)
      : analysis(analysis), program(std::move(program)) {}

  void run(func::FuncOp function, const std::vector<int64_t> &arguments) {
    for (auto [arg, value] : llvm::zip(function.getArguments(), arguments))
      define(arg, {{}, {value}});
    runBlock(function.getBody().front());
  }

  int checked = 0, contiguous = 0, constant = 0;

private:
  static int64_t wrap(Type type, int64_t value) {
    auto integer = dyn_cast<IntegerType>(tile::elementType(type));
    if (!integer)
      return value;
    if (integer.getWidth() == 1)
      return value & 1;
    return llvm::SignExtend64(uint64_t(value), integer.getWidth());
  }

  void define(Value value, Elements elements) {
    for (int64_t &x : elements.values)
      x = wrap(value.getType(), x);
    check(value, elements);
    values[value] = std::move(elements);
  }

  void check(Value value, const Elements &elements) {
    AxisInfo info = analysis.of(value);
    auto complain = [&](const std::string &what) {
      std::string text;
      llvm::raw_string_ostream out(text);
      value.getParentRegion()->getParentOfType<ModuleOp>().print(out);
      out << "\nwrong " << what << " of ";
      value.print(out);
      ADD_FAILURE() << text;
      throw Wrong();
    };
    ++checked;
    int64_t bytes = 1;
    const bool pointer = isa<tile::PtrType>(tile::elementType(value.getType()));
    if (pointer)
      bytes = elementBytes(value.getType());
    std::vector<int64_t> shape = elements.shape;
    if (shape.empty())
      shape = {1};
    ASSERT_EQ(info.axes.size(), shape.size());
    std::vector<int64_t> strides(shape.size(), 1);
    for (size_t d = shape.size() - 1; d > 0; --d)
      strides[d - 1] = strides[d] * shape[d];
    for (int64_t i = 0; i < int64_t(elements.values.size()); ++i) {
      int64_t x = elements.values[i];
      if (info.constant && x != *info.constant)
        complain("constant");
      if (!pointer && (x < info.low || x > info.high))
        complain("bounds");
      for (size_t d = 0; d < shape.size(); ++d) {
        const AxisInfo::Axis &axis = info.axes[d];
        int64_t at = i / strides[d] % shape[d];
        int64_t inRun = at % axis.contiguity, inGroup = at % axis.constancy;
        int64_t start = elements.values[i - inRun * strides[d]];
        // Offsets of 32 bits wrap: addresses jump, but not inside of what one
        // access takes.
        if (pointer ? (x - start - inRun * bytes) % (bytes << 32) != 0
                    : x != wrap(value.getType(), start + inRun))
          complain("contiguity");
        int64_t access = std::min(axis.contiguity, axis.divisibility / bytes);
        if (pointer && access > 1 &&
            x != elements.values[i - at % access * strides[d]] +
                     at % access * bytes)
          complain("aligned run");
        if (start % axis.divisibility != 0)
          complain("divisibility");
        if (x != elements.values[i - inGroup * strides[d]])
          complain("constancy");
        contiguous += axis.contiguity > 1;
        constant += axis.constancy > 1 && axis.constancy < shape[d];
      }
    }
  }

  void runBlock(Block &block) {
    for (Operation &op : block)
      execute(&op);
  }

  std::vector<Elements> operandsOf(Operation *op) {
    std::vector<Elements> result;
    for (Value operand : op->getOperands())
      result.push_back(values.at(operand));
    return result;
  }

  int64_t scalar(Operation *op, const std::vector<int64_t> &x) {
    using namespace arith;
    return llvm::TypeSwitch<Operation *, int64_t>(op)
        .Case<AddIOp>([&](auto) { return x[0] + x[1]; })
        .Case<SubIOp>([&](auto) { return x[0] - x[1]; })
        .Case<MulIOp>([&](auto) { return x[0] * x[1]; })
        // What a division by zero gives is not specified; this is one choice.
        .Case<DivSIOp>([&](auto) { return x[1] ? x[0] / x[1] : 0; })
        .Case<RemSIOp>([&](auto) { return x[1] ? x[0] % x[1] : x[0]; })
        .Case<AndIOp>([&](auto) { return x[0] & x[1]; })
        .Case<OrIOp>([&](auto) { return x[0] | x[1]; })
        .Case<XOrIOp>([&](auto) { return x[0] ^ x[1]; })
        .Case<ShLIOp>([&](auto) { return x[0] << x[1]; })
        .Case<ShRSIOp>([&](auto) { return x[0] >> x[1]; })
        .Case<MinSIOp>([&](auto) { return std::min(x[0], x[1]); })
        .Case<MaxSIOp>([&](auto) { return std::max(x[0], x[1]); })
        .Case<SelectOp>([&](auto) { return x[0] ? x[1] : x[2]; })
        .Case<ExtSIOp>([&](auto cast) {
          return cast.getIn().getType().isInteger(1) ||
                         tile::elementType(cast.getIn().getType()).isInteger(1)
                     ? -x[0]
                     : x[0];
        })
        .Case<ExtUIOp>([&](auto cast) {
          unsigned width =
              tile::elementType(cast.getIn().getType()).getIntOrFloatBitWidth();
          return x[0] & ((int64_t(1) << width) - 1);
        })
        .Case<TruncIOp>([&](auto) { return x[0]; })
        .Case<CmpIOp>([&](auto compare) {
          switch (compare.getPredicate()) {
          case CmpIPredicate::slt:
            return int64_t(x[0] < x[1]);
          case CmpIPredicate::sle:
            return int64_t(x[0] <= x[1]);
          case CmpIPredicate::sgt:
            return int64_t(x[0] > x[1]);
          case CmpIPredicate::sge:
            return int64_t(x[0] >= x[1]);
          case CmpIPredicate::ult:
            return int64_t(uint32_t(x[0]) < uint32_t(x[1]));
          case CmpIPredicate::eq:
            return int64_t(x[0] == x[1]);
          default:
            return int64_t(x[0] != x[1]);
          }
        })
        .Case<tile::AddPtrOp>(
            [&](auto add) { return x[0] + x[1] * elementBytes(add.getType()); })
        .DefaultUnreachable("an operation the machine lacks");
  }

  void execute(Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      std::vector<Elements> carried;
      for (Value init : loop.getInitArgs())
        carried.push_back(values.at(init));
      int64_t upper = values.at(loop.getUpperBound()).values[0];
      int64_t step = values.at(loop.getStep()).values[0];
      int iterations = 0;
      for (int64_t i = values.at(loop.getLowerBound()).values[0];
           i < upper && iterations < 5; i += step, ++iterations) {
        define(loop.getInductionVar(), {{}, {i}});
        for (auto [arg, value] : llvm::zip(loop.getRegionIterArgs(), carried))
          define(arg, value);
        runBlock(*loop.getBody());
        carried = operandsOf(loop.getBody()->getTerminator());
      }
      for (auto [result, value] : llvm::zip(loop.getResults(), carried))
        define(result, value);
      return;
    }
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      Region &taken = values.at(branch.getCondition()).values[0]
                          ? branch.getThenRegion()
                          : branch.getElseRegion();
      runBlock(taken.front());
      auto yielded = operandsOf(taken.front().getTerminator());
      for (auto [result, value] : llvm::zip(branch.getResults(), yielded))
        define(result, value);
      return;
    }
    if (op->getNumResults() == 0)
      return;
    Value result = op->getResult(0);
    Elements out;
    out.shape.assign(tile::shapeOf(result.getType()).begin(),
                     tile::shapeOf(result.getType()).end());
    int64_t count = 1;
    for (int64_t size : out.shape)
      count *= size;
    out.values.resize(count);
    std::vector<Elements> in = operandsOf(op);
    auto coordinates = [&](int64_t i) {
      std::vector<int64_t> at(out.shape.size());
      for (size_t d = out.shape.size(); d-- > 0; i /= out.shape[d])
        at[d] = i % out.shape[d];
      return at;
    };
    auto read = [](const Elements &from, const std::vector<int64_t> &at) {
      int64_t flat = 0;
      for (size_t d = 0; d < from.shape.size(); ++d)
        flat = flat * from.shape[d] + at[d];
      return from.values[flat];
    };
    for (int64_t i = 0; i < count; ++i) {
      int64_t &x = out.values[i];
      std::vector<int64_t> at = coordinates(i);
      if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
        Attribute value = constant.getValue();
        if (auto dense = dyn_cast<SplatElementsAttr>(value))
          value = dense.getSplatValue<Attribute>();
        x = cast<IntegerAttr>(value).getInt();
      } else if (auto range = dyn_cast<tile::RangeOp>(op)) {
        x = int64_t(range.getStart()) + i;
      } else if (auto id = dyn_cast<tile::ProgramIdOp>(op)) {
        x = program[id.getAxis()];
      } else if (isa<tile::SplatOp>(op)) {
        x = in[0].values[0];
      } else if (isa<tile::ReshapeOp>(op)) {
        x = in[0].values[i];
      } else if (auto trans = dyn_cast<tile::TransOp>(op)) {
        std::vector<int64_t> from(at.size());
        for (size_t d = 0; d < at.size(); ++d)
          from[trans.getOrder()[d]] = at[d];
        x = read(in[0], from);
      } else if (auto expand = dyn_cast<tile::ExpandDimsOp>(op)) {
        at.erase(at.begin() + expand.getAxis());
        x = read(in[0], at);
      } else if (isa<tile::BroadcastOp>(op)) {
        for (size_t d = 0; d < at.size(); ++d)
          at[d] = std::min(at[d], in[0].shape[d] - 1);
        x = read(in[0], at);
      } else {
        std::vector<int64_t> operands;
        for (const Elements &operand : in)
          operands.push_back(
              operand.values[operand.values.size() == 1 ? 0 : i]);
        x = scalar(op, operands);
      }
    }
    define(result, std::move(out));
  }

  const AxisInfoAnalysis &analysis;
  std::vector<int64_t> program;
  llvm::DenseMap<Value, Elements> values;
};

// Builds random programs.
class Writer {
public:
  Writer(MLIRContext &context, uint64_t seed)
      : builder(&context), random(seed) {}

  OwningOpRef<ModuleOp> write() {
    Location loc = builder.getUnknownLoc();
    OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
    builder.setInsertionPointToEnd(module->getBody());
    auto ptr32 = tile::PtrType::get(builder.getF32Type());
    auto ptr16 = tile::PtrType::get(builder.getF16Type());
    Type i32 = builder.getI32Type();
    auto function = func::FuncOp::create(
        builder, loc, "k",
        builder.getFunctionType({ptr32, ptr16, i32, i32, i32}, {}));
    Block *body = function.addEntryBlock();
    int divisors[] = {16, 1, 16, 4, 1};
    for (int i = 0; i < 5; ++i)
      function.setArgAttr(i, tile::kDivisibilityAttr,
                          builder.getI32IntegerAttr(divisors[i]));
    builder.setInsertionPointToEnd(body);
    for (Value argument : body->getArguments())
      known.push_back(argument);
    for (int64_t value : {0, 1, 2, 3, 8, 12, 64})
      add(arith::ConstantOp::create(builder, loc,
                                    builder.getI32IntegerAttr(value)));
    for (int64_t start : {0, 0, 4, 16})
      for (int64_t size : {8, 16})
        add(tile::RangeOp::create(builder, loc,
                                  RankedTensorType::get({size}, i32), start,
                                  start + size));
    add(tile::ProgramIdOp::create(builder, loc, i32, 0));
    grow(14 + pick(14), 2);
    func::ReturnOp::create(builder, loc);
    return module;
  }

private:
  int pick(int n) { return std::uniform_int_distribution<>(0, n - 1)(random); }
  void add(Value value) { known.push_back(value); }

  // A known value of which `accept` holds; null if there is none.
  template <typename Accept>
  Value some(Accept accept) {
    std::vector<Value> fitting;
    for (Value value : known)
      if (accept(value))
        fitting.push_back(value);
    if (fitting.empty())
      return {};
    // New values more often, so that programs get deep.
    int a = pick(int(fitting.size())), b = pick(int(fitting.size()));
    return fitting[std::max(a, b)];
  }
  static bool isPtr(Value value) {
    return isa<tile::PtrType>(tile::elementType(value.getType()));
  }
  static bool isInt(Value value, unsigned width = 32) {
    return tile::elementType(value.getType()).isInteger(width);
  }
  Value someOf(Type type) {
    return some([&](Value value) { return value.getType() == type; });
  }

  void grow(int count, int depth) {
    for (int i = 0; i < count; ++i)
      step(depth);
  }

  // Two integers of one type: a scalar is splat to the other's shape.
  std::pair<Value, Value> pair() {
    Value a = some([](Value value) { return isInt(value); });
    Value b = pick(3) ? some([&](Value value) {
      return value.getType() == builder.getI32Type();
    })
                      : someOf(a.getType());
    if (b.getType() != a.getType())
      b = tile::SplatOp::create(builder, builder.getUnknownLoc(), a.getType(),
                                b);
    if (pick(4) == 0)
      std::swap(a, b);
    return {a, b};
  }

  template <typename Op>
  void binary() {
    auto [a, b] = pair();
    add(Op::create(builder, builder.getUnknownLoc(), a, b));
  }

  void step(int depth) {
    Location loc = builder.getUnknownLoc();
    Type i32 = builder.getI32Type();
    switch (pick(26)) {
    case 0:
    case 1:
    case 2:
      return binary<arith::AddIOp>();
    case 3:
      return binary<arith::SubIOp>();
    case 4:
      return binary<arith::MulIOp>();
    case 5:
      return binary<arith::DivSIOp>();
    case 6:
      return binary<arith::RemSIOp>();
    case 7:
      return binary<arith::MinSIOp>();
    case 8:
      return binary<arith::MaxSIOp>();
    case 9:
      return binary<arith::AndIOp>();
    case 10:
      return pick(2) ? binary<arith::OrIOp>() : binary<arith::XOrIOp>();
    case 11: {
      Value a = some([](Value value) { return isInt(value); });
      Value amount = arith::ConstantOp::create(
          builder, loc, builder.getI32IntegerAttr(pick(4)));
      if (isa<RankedTensorType>(a.getType()))
        amount = tile::SplatOp::create(builder, loc, a.getType(), amount);
      if (pick(2))
        add(arith::ShLIOp::create(builder, loc, a, amount));
      else
        add(arith::ShRSIOp::create(builder, loc, a, amount));
      return;
    }
    case 12:
    case 13: {
      auto [a, b] = pair();
      using P = arith::CmpIPredicate;
      P kinds[] = {P::slt, P::sle, P::sgt, P::sge, P::ult, P::eq, P::ne};
      add(arith::CmpIOp::create(builder, loc, kinds[pick(7)], a, b));
      return;
    }
    case 14: {
      auto [a, b] = pair();
      Value condition = some([&](Value value) {
        return isInt(value, 1) &&
               (!isa<RankedTensorType>(value.getType()) ||
                tile::shapeOf(value.getType()) == tile::shapeOf(a.getType()));
      });
      if (condition)
        add(arith::SelectOp::create(builder, loc, condition, a, b));
      return;
    }
    case 15: {
      Value a = some([](Value value) { return isInt(value); });
      Type narrow = tile::withElementType(a.getType(), builder.getI8Type());
      Value small = arith::TruncIOp::create(builder, loc, narrow, a);
      if (pick(2))
        add(arith::ExtSIOp::create(builder, loc, a.getType(), small));
      else
        add(arith::ExtUIOp::create(builder, loc, a.getType(), small));
      return;
    }
    case 16:
    case 17: {
      Value offset =
          some([](Value value) { return isInt(value) || isInt(value, 64); });
      Value base = some([&](Value value) {
        return isPtr(value) && (!isa<RankedTensorType>(value.getType()) ||
                                tile::shapeOf(value.getType()) ==
                                    tile::shapeOf(offset.getType()));
      });
      Type type = tile::withElementType(offset.getType(),
                                        tile::elementType(base.getType()));
      if (base.getType() != type)
        base = tile::SplatOp::create(builder, loc, type, base);
      add(tile::AddPtrOp::create(builder, loc, type, base, offset));
      return;
    }
    case 18: {
      Value a = some([](Value value) {
        return tile::shapeOf(value.getType()).size() == 1;
      });
      int64_t size = tile::shapeOf(a.getType())[0];
      Type element = tile::elementType(a.getType());
      bool first = pick(2);
      Type wide = RankedTensorType::get(first ? ArrayRef<int64_t>{1, size}
                                              : ArrayRef<int64_t>{size, 1},
                                        element);
      Value b =
          tile::ExpandDimsOp::create(builder, loc, wide, a, first ? 0 : 1);
      add(b);
      add(tile::BroadcastOp::create(
          builder, loc,
          RankedTensorType::get(first ? ArrayRef<int64_t>{8, size}
                                      : ArrayRef<int64_t>{size, 8},
                                element),
          b));
      return;
    }
    case 19: {
      Value a = some([](Value value) {
        return tile::shapeOf(value.getType()).size() == 2;
      });
      if (!a)
        return;
      ArrayRef<int64_t> shape = tile::shapeOf(a.getType());
      Type element = tile::elementType(a.getType());
      if (pick(2)) {
        add(tile::TransOp::create(
            builder, loc, RankedTensorType::get({shape[1], shape[0]}, element),
            a, builder.getDenseI32ArrayAttr({1, 0})));
        return;
      }
      int64_t count = shape[0] * shape[1];
      std::vector<int64_t> to;
      switch (pick(4)) {
      case 0:
        to = {count};
        break;
      case 1:
        to = {count / 8, 8};
        break;
      case 2:
        to = {count / 4, 2, 2};
        break;
      default:
        to = {shape[0], 1, shape[1]};
      }
      add(tile::ReshapeOp::create(builder, loc,
                                  RankedTensorType::get(to, element), a));
      return;
    }
    case 20:
    case 21: {
      if (depth == 0)
        return;
      auto scalar = [&] {
        return some([&](Value value) { return value.getType() == i32; });
      };
      Value steps[3] = {scalar(), scalar(), {}};
      steps[2] = arith::ConstantOp::create(
          builder, loc, builder.getI32IntegerAttr(1 << pick(5)));
      Value a = some([](Value) { return true; });
      Value b = some([](Value) { return true; });
      auto loop = scf::ForOp::create(builder, loc, steps[0], steps[1], steps[2],
                                     ValueRange{a, b});
      size_t before = known.size();
      {
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPointToStart(loop.getBody());
        add(loop.getInductionVar());
        for (Value argument : loop.getRegionIterArgs())
          add(argument);
        grow(6, depth - 1);
        Value x = someOf(a.getType()), y = someOf(b.getType());
        scf::YieldOp::create(builder, loc, ValueRange{x, y});
      }
      known.resize(before);
      for (Value result : loop.getResults())
        add(result);
      return;
    }
    case 22: {
      Value condition = someOf(builder.getI1Type());
      if (!condition || depth == 0)
        return;
      Value like = some([](Value) { return true; });
      auto branch = scf::IfOp::create(builder, loc, TypeRange{like.getType()},
                                      condition, true);
      for (Region *region :
           {&branch.getThenRegion(), &branch.getElseRegion()}) {
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPointToStart(&region->front());
        size_t before = known.size();
        grow(4, depth - 1);
        scf::YieldOp::create(builder, loc, someOf(like.getType()));
        known.resize(before);
      }
      add(branch.getResult(0));
      return;
    }
    case 23: { // 64 bits: runs that wrapped before stay torn.
      Value a = some([](Value value) { return isInt(value); });
      Value b =
          some([&](Value value) { return value.getType() == a.getType(); });
      Type wide = tile::withElementType(a.getType(), builder.getI64Type());
      a = arith::ExtSIOp::create(builder, loc, wide, a);
      b = arith::ExtSIOp::create(builder, loc, wide, b);
      add(a);
      using P = arith::CmpIPredicate;
      P kinds[] = {P::slt, P::sge, P::eq};
      if (pick(2))
        add(arith::SubIOp::create(builder, loc, a, b));
      else
        add(arith::CmpIOp::create(builder, loc, kinds[pick(3)], a, b));
      return;
    }
    default:
      return binary<arith::AddIOp>();
    }
  }

  OpBuilder builder;
  std::mt19937_64 random;
  std::vector<Value> known;
};

TEST(AxisInfoRandom, EveryClaimHolds) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<tile::TileDialect, arith::ArithDialect, scf::SCFDialect,
                      func::FuncDialect>();
  int64_t checked = 0, contiguous = 0, constant = 0;
  const int programs = 1500;
  for (int seed = 0; seed < programs && !testing::Test::HasFailure(); ++seed) {
    OwningOpRef<ModuleOp> module = Writer(context, seed).write();
    // Programs of a grid: along x up to 2^21, or 2^31 - 1.
    const bool wide = seed % 2;
    const int64_t last = (int64_t(1) << (wide ? 31 : 21)) - (wide ? 2 : 1);
    if (wide)
      (*module)->setAttr(kWideGridAttr, UnitAttr::get(&context));
    AxisInfoAnalysis analysis(*module);
    auto function = *module->getOps<func::FuncOp>().begin();
    std::mt19937_64 random(seed);
    for (int trial = 0; trial < 6 && !testing::Test::HasFailure(); ++trial) {
      auto small = [&](int64_t divisor) {
        return int64_t(random() % 40) * divisor;
      };
      // Small, negative, or next to an end of the type, where sums wrap.
      auto number = [&](int64_t divisor) {
        int64_t value = small(divisor);
        if (trial == 3)
          return -value;
        if (trial == 4 || (trial == 5 && random() % 2))
          return value - (int64_t(1) << 31);
        return trial == 5 ? (int64_t(1) << 31) - divisor - value : value;
      };
      int64_t x = small(1);
      if (trial == 4)
        x = last - x;
      else if (trial == 5)
        x = int64_t(random() % uint64_t(last + 1));
      Machine machine(analysis, {x, small(1), small(1)});
      try {
        machine.run(function,
                    {small(16), small(1), number(16), number(4), number(1)});
      } catch (Wrong &) {
      }
      checked += machine.checked;
      contiguous += machine.contiguous;
      constant += machine.constant;
    }
  }
  // The claims are worth checking.
  EXPECT_GT(checked, 150 * programs);
  EXPECT_GT(contiguous, 150 * programs);
  EXPECT_GT(constant, programs);
}

} // namespace
