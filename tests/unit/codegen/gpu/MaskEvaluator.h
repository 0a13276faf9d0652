// tests/unit/codegen/gpu/MaskEvaluator.h - elements of masks as numbers.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// TileBoundsTest evaluates masks and their conditions for millions of numbers.
// MaskEvaluator reads the operations once and lists what each single element
// needs, so that a run is a pass over this list.
#ifndef TESSERA_TESTS_UNIT_CODEGEN_GPU_MASKEVALUATOR_H
#define TESSERA_TESTS_UNIT_CODEGEN_GPU_MASKEVALUATOR_H

#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <functional>
#include <vector>

namespace tessera::codegen {

class MaskEvaluator {
public:
  // Places in the list of numbers, one for each element of a value.
  using Elements = std::vector<size_t>;

  // `arguments` are scalars, whose numbers each run gets in this order.
  template <typename Range>
  explicit MaskEvaluator(const Range &arguments) {
    for (mlir::Value argument : arguments)
      known[argument] = {add(0)};
    count = numbers.size();
  }

  // Reads everything that `value` depends on.
  Elements elements(mlir::Value value) {
    auto it = known.find(value);
    if (it != known.end())
      return it->second;
    Elements result = read(value);
    known[value] = result;
    return result;
  }

  // Computes all elements that have been asked for.
  void run(llvm::ArrayRef<int64_t> arguments) {
    assert(arguments.size() == count);
    std::copy(arguments.begin(), arguments.end(), numbers.begin());
    int64_t *all = numbers.data();
    for (const Step &step : steps)
      all[step.to] =
          wrap(step.width, step.compute(all[step.from[0]], all[step.from[1]],
                                        all[step.from[2]]));
  }

  // Whether each of the elements is as wanted, after a run.
  bool are(const Elements &elements, bool wanted) const {
    for (size_t at : elements)
      if ((numbers[at] != 0) != wanted)
        return false;
    return true;
  }

private:
  using Compute = int64_t (*)(int64_t, int64_t, int64_t);
  struct Step {
    Compute compute;
    unsigned width; // of the result, in bits
    size_t to, from[3];
  };

  static int64_t wrap(unsigned width, int64_t value) {
    if (width == 1)
      return value & 1;
    return int64_t(uint64_t(value) << (64 - width)) >> (64 - width);
  }

  static unsigned width(mlir::Value value) {
    return tile::elementType(value.getType()).getIntOrFloatBitWidth();
  }

  size_t add(int64_t number) {
    numbers.push_back(number);
    return numbers.size() - 1;
  }

  // The elements of the result in row-major order; `from` maps the position of
  // one in the result to its position in the operand.
  template <typename From>
  Elements moved(mlir::Value operand, mlir::Value result, From from) {
    const Elements elements = this->elements(operand);
    const auto shape = tile::shapeOf(result.getType()),
               source = tile::shapeOf(operand.getType());
    Elements moved;
    std::vector<int64_t> position(shape.size());
    for (int64_t i = 0, size = product(shape); i < size; ++i) {
      int64_t rest = i, at = 0;
      for (size_t d = shape.size(); d-- > 0; rest /= shape[d])
        position[d] = rest % shape[d];
      for (auto [x, extent] : llvm::zip(from(position), source))
        at = at * extent + x;
      moved.push_back(elements[size_t(at)]);
    }
    return moved;
  }

  template <typename Shape>
  static int64_t product(const Shape &shape) {
    int64_t result = 1;
    for (int64_t size : shape)
      result *= size;
    return result;
  }

  Elements constant(mlir::arith::ConstantOp op) {
    mlir::Attribute number = op.getValue();
    if (auto splat = mlir::dyn_cast<mlir::SplatElementsAttr>(number))
      number = splat.getSplatValue<mlir::Attribute>();
    const llvm::APInt value = mlir::cast<mlir::IntegerAttr>(number).getValue();
    return Elements(size_t(product(tile::shapeOf(op.getType()))),
                    add(wrap(value.getBitWidth(), value.getSExtValue())));
  }

  // One step for each element of the result.
  Elements computed(mlir::Operation *op, Compute compute) {
    std::vector<Elements> operands;
    for (mlir::Value operand : op->getOperands())
      operands.push_back(elements(operand));
    Elements result;
    for (size_t i = 0; i < operands[0].size(); ++i) {
      Step step{compute, width(op->getResult(0)), add(0), {0, 0, 0}};
      for (size_t k = 0; k < operands.size(); ++k)
        step.from[k] = operands[k][i];
      result.push_back(step.to);
      steps.push_back(step);
    }
    return result;
  }

  static Compute comparison(mlir::arith::CmpIOp op) {
    using mlir::arith::CmpIPredicate;
    // Numbers of one bit are 0 and 1 here, and 0 and -1 for signed comparisons.
    const bool bits = width(op.getLhs()) == 1;
    switch (op.getPredicate()) {
    case CmpIPredicate::eq:
      return [](int64_t a, int64_t b, int64_t) { return int64_t(a == b); };
    case CmpIPredicate::ne:
      return [](int64_t a, int64_t b, int64_t) { return int64_t(a != b); };
    case CmpIPredicate::slt:
      return bits ? greater : less;
    case CmpIPredicate::sgt:
      return bits ? less : greater;
    case CmpIPredicate::sle:
      return bits ? atLeast : atMost;
    case CmpIPredicate::sge:
      return bits ? atMost : atLeast;
    case CmpIPredicate::ult:
      return lessUnsigned;
    case CmpIPredicate::ugt:
      return
          [](int64_t a, int64_t b, int64_t c) { return lessUnsigned(b, a, c); };
    case CmpIPredicate::ule:
      return [](int64_t a, int64_t b, int64_t c) {
        return 1 - lessUnsigned(b, a, c);
      };
    case CmpIPredicate::uge:
      return [](int64_t a, int64_t b, int64_t c) {
        return 1 - lessUnsigned(a, b, c);
      };
    }
    llvm_unreachable("a comparison that the evaluator lacks");
  }
  static int64_t less(int64_t a, int64_t b, int64_t) { return a < b; }
  static int64_t greater(int64_t a, int64_t b, int64_t) { return a > b; }
  static int64_t atMost(int64_t a, int64_t b, int64_t) { return a <= b; }
  static int64_t atLeast(int64_t a, int64_t b, int64_t) { return a >= b; }
  static int64_t lessUnsigned(int64_t a, int64_t b, int64_t) {
    return uint64_t(a) < uint64_t(b);
  }

  Elements read(mlir::Value value);

  llvm::DenseMap<mlir::Value, Elements> known;
  std::vector<int64_t> numbers;
  std::vector<Step> steps;
  size_t count = 0;
};

// Sums wrap in 64 bits, as in the narrower types after them.
inline MaskEvaluator::Elements MaskEvaluator::read(mlir::Value value) {
  using namespace mlir;
  using Position = std::vector<int64_t>;
  Operation *op = value.getDefiningOp();
  auto compute = [&](Compute compute) { return computed(op, compute); };
  return llvm::TypeSwitch<Operation *, Elements>(op)
      .Case(
          [&](arith::ConstantOp constant) { return this->constant(constant); })
      .Case([&](tile::RangeOp range) {
        Elements result;
        for (int64_t i = 0; i < product(tile::shapeOf(range.getType())); ++i)
          result.push_back(add(int64_t(range.getStart()) + i));
        return result;
      })
      .Case([&](tile::SplatOp splat) {
        return Elements(size_t(product(tile::shapeOf(splat.getType()))),
                        elements(splat.getSrc())[0]);
      })
      .Case([&](tile::ExpandDimsOp expand) {
        return moved(expand.getSrc(), value, [&](Position at) {
          at.erase(at.begin() + expand.getAxis());
          return at;
        });
      })
      .Case([&](tile::BroadcastOp broadcast) {
        auto shape = tile::shapeOf(broadcast.getSrc().getType());
        return moved(broadcast.getSrc(), value, [&](Position at) {
          for (auto [x, size] : llvm::zip(at, shape))
            x = std::min(x, size - 1);
          return at;
        });
      })
      .Case([&](tile::TransOp trans) {
        return moved(trans.getSrc(), value, [&](Position at) {
          Position from(at.size());
          for (auto [i, axis] : llvm::enumerate(trans.getOrder()))
            from[size_t(axis)] = at[i];
          return from;
        });
      })
      .Case([&](arith::AddIOp) {
        return compute([](int64_t a, int64_t b, int64_t) {
          return int64_t(uint64_t(a) + uint64_t(b));
        });
      })
      .Case([&](arith::SubIOp) {
        return compute([](int64_t a, int64_t b, int64_t) {
          return int64_t(uint64_t(a) - uint64_t(b));
        });
      })
      .Case([&](arith::MulIOp) {
        return compute([](int64_t a, int64_t b, int64_t) {
          return int64_t(uint64_t(a) * uint64_t(b));
        });
      })
      .Case([&](arith::DivSIOp) {
        return compute([](int64_t a, int64_t b, int64_t) { return a / b; });
      })
      .Case([&](arith::MinSIOp) {
        return compute(
            [](int64_t a, int64_t b, int64_t) { return std::min(a, b); });
      })
      .Case([&](arith::MaxSIOp) {
        return compute(
            [](int64_t a, int64_t b, int64_t) { return std::max(a, b); });
      })
      .Case([&](arith::AndIOp) {
        return compute([](int64_t a, int64_t b, int64_t) { return a & b; });
      })
      .Case([&](arith::OrIOp) {
        return compute([](int64_t a, int64_t b, int64_t) { return a | b; });
      })
      .Case([&](arith::XOrIOp) {
        return compute([](int64_t a, int64_t b, int64_t) { return a ^ b; });
      })
      .Case([&](arith::ExtSIOp extend) {
        return width(extend.getIn()) == 1
                   ? compute([](int64_t a, int64_t, int64_t) { return -a; })
                   : compute([](int64_t a, int64_t, int64_t) { return a; });
      })
      .Case([&](arith::SelectOp) {
        return compute(
            [](int64_t a, int64_t b, int64_t c) { return a ? b : c; });
      })
      .Case([&](arith::CmpIOp cmp) { return computed(op, comparison(cmp)); })
      .DefaultUnreachable("an operation that the evaluator lacks");
}

} // namespace tessera::codegen

#endif
